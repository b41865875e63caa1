import { RESOURCE_EVENT_LOOP, RESOURCE_THREAD_POOL, SEGMENTS } from '@waitfall/instrumentation/conventions';
import { isWait } from '../classify/classify.ts';
import type { Classes, ResourceKind } from '../classify/types.ts';
import { PairIds } from '../model/pair-ids.ts';
import type { SpanTable } from '../model/span-table.ts';
import type { Queue } from './activity.ts';
import type { QueueIndex } from './queue-index.ts';
import { kindOfSegment } from './queue-kind.ts';

/** Indexes into SEGMENTS. */
const WORK = SEGMENTS.indexOf('work');
const PAUSE = SEGMENTS.indexOf('runtime_pause');
const DOWNSTREAM = SEGMENTS.indexOf('downstream');

/** A queue and the process of it that a span belongs to. */
export interface SpanQueue {
  /** What the span says the queue is: another span may have said something else before. */
  readonly kind: ResourceKind;
  readonly queue: Queue;
  readonly instance: number;
}

/** What {@link QueueIndex.find} finds a queue by. */
export interface NamedQueue {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly service: string;
}

/** The queue a span waits on or works for, by its class and process: looked up by name once for all that share them. */
export class SpanQueues {
  readonly #index: QueueIndex;
  readonly #table: SpanTable;
  readonly #classes: Classes;
  readonly #pairs = new PairIds();
  readonly #known: (SpanQueue | undefined)[] = [];

  constructor(index: QueueIndex, table: SpanTable, classes: Classes) {
    this.#index = index;
    this.#table = table;
    this.#classes = classes;
  }

  /** @returns the queue of a wait, a pause or a slice of work, which is added when it is new. */
  of(row: number): SpanQueue {
    const key = this.#key(row);
    let known = this.#known[key];
    if (known === undefined) {
      const { service, instance } = this.#table.resources[this.#table.resource[row]];
      const { kind, name } = this.#named(row);
      const queue = this.#index.of(kind, name ?? defaultName(kind), service);
      known = { kind, queue, instance: this.#index.instance(queue, instance) };
      this.#known[key] = known;
    }
    return known;
  }

  /** @returns the same number for spans of one class and process. */
  number(row: number): number {
    return this.#key(row);
  }

  /** @returns the name of the queue a span belongs to, null without one. Nothing is added. */
  named(row: number): NamedQueue | null {
    const segment = this.#classes.segment[row];
    if (segment !== WORK && segment !== PAUSE && segment !== DOWNSTREAM && !isWait(segment)) return null;
    const { kind, name } = this.#named(row);
    const { service } = this.#table.resources[this.#table.resource[row]];
    const known = name ?? (kind === 'eventloop' ? RESOURCE_EVENT_LOOP : null);
    return known === null ? null : { kind, name: known, service };
  }

  #key(row: number): number {
    const ofProcess = this.#table.resource[row] * SEGMENTS.length + this.#classes.segment[row];
    return this.#pairs.of(ofProcess, this.#classes.resource[row] + 1);
  }

  #named(row: number): { kind: ResourceKind; name: string | null } {
    const segment = this.#classes.segment[row];
    const resource = this.#classes.resource[row];
    const name = resource >= 0 ? this.#classes.resources[resource] : null;
    if (segment === WORK && name === RESOURCE_THREAD_POOL) return { kind: 'threadpool', name };
    if (segment === WORK || segment === PAUSE) return { kind: 'eventloop', name: RESOURCE_EVENT_LOOP };
    return { kind: kindOfSegment(SEGMENTS[segment]), name };
  }
}

function defaultName(kind: ResourceKind): string {
  return kind === 'eventloop' ? RESOURCE_EVENT_LOOP : kind === 'admission' ? 'http.server' : kind;
}
