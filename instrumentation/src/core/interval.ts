import type { Attributes, Context, Link, SpanContext } from '@opentelemetry/api';
import type { Outcome, Segment } from '../conventions.ts';
import type { SegmentRecord } from './emit.ts';

/**
 * A {@link SegmentRecord} with every field in its place, absent or not: what every request makes is made in one shape,
 * for code that reads objects of many shapes is several times slower.
 */
export class Interval implements SegmentRecord {
  segment: Segment;
  resource: string;
  parent: Context;
  startMs: number;
  endMs: number;
  name: string | undefined = undefined;
  outcome: Outcome | undefined = undefined;
  errorType: string | undefined = undefined;
  capacity: number | undefined = undefined;
  inUse: number | undefined = undefined;
  queueDepth: number | undefined = undefined;
  holdMs: number | undefined = undefined;
  minMs: number | undefined = undefined;
  maxMs: number | undefined = undefined;
  attributes: Attributes | undefined = undefined;
  links: Link[] | undefined = undefined;
  isVisit: boolean | undefined = undefined;
  context: SpanContext | undefined = undefined;

  constructor(segment: Segment, resource: string, parent: Context, startMs: number, endMs: number) {
    this.segment = segment;
    this.resource = resource;
    this.parent = parent;
    this.startMs = startMs;
    this.endMs = endMs;
  }

  /** @returns the record itself where it is one already. */
  static of(record: SegmentRecord): Interval {
    if (record instanceof Interval) return record;
    const { segment, resource, parent, startMs, endMs } = record;
    return Object.assign(new Interval(segment, resource, parent, startMs, endMs), record);
  }
}
