import type { Attributes, Link, SpanContext, SpanKind } from '@opentelemetry/api';
import {
  ATTR_ESTIMATE_MAX_NS,
  ATTR_ESTIMATE_MIN_NS,
  ATTR_ESTIMATED,
  ATTR_HOLD_DURATION_NS,
  ATTR_RESOURCE_IN_USE,
  ATTR_RESOURCE_QUEUE_DEPTH,
} from '../conventions.ts';
import type { ClockAnchor } from './clock.ts';
import { AttributeKey, type AttributeSink, Fragment } from './fragment.ts';

const IN_USE = new AttributeKey(ATTR_RESOURCE_IN_USE);
const QUEUE_DEPTH = new AttributeKey(ATTR_RESOURCE_QUEUE_DEPTH);
const HOLD_DURATION_NS = new AttributeKey(ATTR_HOLD_DURATION_NS);
const ESTIMATE_MIN_NS = new AttributeKey(ATTR_ESTIMATE_MIN_NS);
const ESTIMATE_MAX_NS = new AttributeKey(ATTR_ESTIMATE_MAX_NS);
const ESTIMATED = new Fragment({ [ATTR_ESTIMATED]: true });

/** A finished interval on its way to an exporter: one object, whose attributes exist only where they are written. */
export class FinishedSpan {
  readonly parent: SpanContext;
  readonly name: string;
  readonly kind: SpanKind;
  readonly anchor: ClockAnchor;
  readonly startMs: number;
  readonly endMs: number;
  readonly error: boolean;
  /** What other spans say too. */
  readonly fixed: Fragment;
  inUse: number | undefined = undefined;
  queueDepth: number | undefined = undefined;
  holdNs: number | undefined = undefined;
  /** Bounds of an inferred interval. */
  minNs: number | undefined = undefined;
  maxNs = 0;
  estimated = false;
  /** What this span alone says. */
  rest: Attributes | undefined = undefined;
  links: Link[] | undefined = undefined;
  /** Set where others have referred to the span before it was finished. */
  context: SpanContext | undefined = undefined;

  constructor(
    parent: SpanContext,
    name: string,
    kind: SpanKind,
    anchor: ClockAnchor,
    startMs: number,
    endMs: number,
    error: boolean,
    fixed: Fragment,
  ) {
    this.parent = parent;
    this.name = name;
    this.kind = kind;
    this.anchor = anchor;
    this.startMs = startMs;
    this.endMs = endMs;
    this.error = error;
    this.fixed = fixed;
  }

  writeAttributes(sink: AttributeSink): void {
    sink.fixed(this.fixed);
    if (this.inUse !== undefined) sink.integer(IN_USE, this.inUse);
    if (this.queueDepth !== undefined) sink.integer(QUEUE_DEPTH, this.queueDepth);
    if (this.holdNs !== undefined) sink.integer(HOLD_DURATION_NS, this.holdNs);
    if (this.minNs === undefined) return;
    sink.integer(ESTIMATE_MIN_NS, this.minNs);
    sink.integer(ESTIMATE_MAX_NS, this.maxNs);
    if (this.estimated) sink.fixed(ESTIMATED);
  }

  /** @returns all attributes as a new object. As {@link writeAttributes} with an object, at half its cost. */
  attributes(): Attributes {
    const attributes: Attributes = { ...this.fixed.attributes };
    if (this.inUse !== undefined) attributes[ATTR_RESOURCE_IN_USE] = this.inUse;
    if (this.queueDepth !== undefined) attributes[ATTR_RESOURCE_QUEUE_DEPTH] = this.queueDepth;
    if (this.holdNs !== undefined) attributes[ATTR_HOLD_DURATION_NS] = this.holdNs;
    if (this.minNs !== undefined) {
      attributes[ATTR_ESTIMATE_MIN_NS] = this.minNs;
      attributes[ATTR_ESTIMATE_MAX_NS] = this.maxNs;
      if (this.estimated) attributes[ATTR_ESTIMATED] = true;
    }
    return this.rest === undefined ? attributes : Object.assign(attributes, this.rest);
  }
}
