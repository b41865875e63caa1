import { type Attributes, SpanKind } from '@opentelemetry/api';
import {
  ATTR_OUTCOME,
  ATTR_RESOURCE,
  ATTR_RESOURCE_CAPACITY,
  ATTR_SEGMENT,
  OUTCOMES,
  type Outcome,
  type Segment,
  waitSpanName,
} from '../conventions.ts';
import { Fragment } from './fragment.ts';

/** What all waits for one queue have in common: their name and most of what they say. */
export class SegmentShape {
  readonly segment: Segment;
  readonly capacity: number | undefined;
  /** `wait_for <resource>`. */
  readonly name: string;
  readonly kind = SpanKind.INTERNAL;
  /** Another queue of the same name: another segment, or another capacity. */
  next: SegmentShape | undefined;
  readonly #resource: string;
  readonly #byOutcome: (Fragment | undefined)[] = OUTCOMES.map(() => undefined);
  #withoutOutcome: Fragment | undefined;

  constructor(segment: Segment, resource: string, capacity: number | undefined) {
    this.segment = segment;
    this.capacity = capacity;
    this.name = waitSpanName(resource);
    this.#resource = resource;
  }

  fragment(outcome: Outcome | undefined): Fragment {
    if (outcome === undefined) {
      this.#withoutOutcome ??= this.#make(undefined);
      return this.#withoutOutcome;
    }
    const at = OUTCOMES.indexOf(outcome);
    const known = this.#byOutcome[at];
    if (known !== undefined) return known;
    const made = this.#make(outcome);
    if (at >= 0) this.#byOutcome[at] = made;
    return made;
  }

  #make(outcome: Outcome | undefined): Fragment {
    const attributes: Attributes = { [ATTR_SEGMENT]: this.segment, [ATTR_RESOURCE]: this.#resource };
    if (outcome !== undefined) attributes[ATTR_OUTCOME] = outcome;
    if (this.capacity !== undefined) attributes[ATTR_RESOURCE_CAPACITY] = this.capacity;
    return new Fragment(attributes, this.name);
  }
}

/** Names of queues are few; a service that makes them up by the thousand gets no place in memory for them. */
const MAX_RESOURCES = 2_000;
const MAX_SHAPES_PER_RESOURCE = 16;

const shapes = new Map<string, SegmentShape>();

/** @returns the shape of a queue, the same one for equal arguments. */
export function shapeOf(segment: Segment, resource: string, capacity: number | undefined): SegmentShape {
  const first = shapes.get(resource);
  let count = 0;
  for (let shape = first; shape !== undefined; shape = shape.next) {
    if (shape.segment === segment && shape.capacity === capacity) return shape;
    count++;
  }
  const made = new SegmentShape(segment, resource, capacity);
  if (first === undefined) {
    if (shapes.size < MAX_RESOURCES) shapes.set(resource, made);
  } else if (count < MAX_SHAPES_PER_RESOURCE) {
    made.next = first.next;
    first.next = made;
  }
  return made;
}
