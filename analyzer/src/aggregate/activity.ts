import { OUTCOMES } from '@waitfall/instrumentation/conventions';
import type { ResourceKind } from '../classify/types.ts';
import type { CallList } from './call-list.ts';
import type { HoldList } from './hold-list.ts';
import type { SliceList } from './slice-list.ts';
import type { WaitList } from './wait-list.ts';

/** A queue: one name in one service (pools, slots, event loop), or one name for everybody (row locks, servers). */
export interface Queue {
  readonly index: number;
  readonly name: string;
  readonly kind: ResourceKind;
  readonly scope: 'process' | 'shared';
  /** Service whose processes own it; of a shared one the service that used it first. */
  readonly service: string;
  /** Process by process, in order of appearance; one entry for shared queues. */
  readonly instances: string[];
  /** Largest stated capacity by instance, and the least: others where it was resized while it ran; null where not stated. */
  readonly statedCapacity: (number | null)[];
  readonly leastCapacity: (number | null)[];
  /** By instance: most servers seen busy, and most seen busy by somebody who had to queue. */
  readonly maxInUse: number[];
  readonly queuedInUse: number[];
  /** Holds of it were not stated but rebuilt from official spans. */
  holdsRebuilt: boolean;
}

/** Times in ns relative to the origin of the requests. `request` is an index into the requests. */
export interface Wait {
  readonly queue: number;
  readonly instance: number;
  readonly request: number;
  readonly row: number;
  readonly startNs: number;
  readonly endNs: number;
  /** Index into OUTCOMES; a wait without a stated outcome was acquired. */
  readonly outcome: number;
  readonly inUse: number | null;
  readonly depth: number | null;
}

export interface Hold {
  readonly queue: number;
  readonly instance: number;
  readonly request: number;
  /** Row that states it: the wait that took the resource, or the hold span. */
  readonly row: number;
  /** Row whose pieces say what happened while it was held. */
  readonly host: number;
  readonly startNs: number;
  readonly endNs: number;
  readonly key: string | null;
}

/** A stretch in which the event loop of one process certainly ran for a request. */
export interface Slice {
  readonly queue: number;
  readonly instance: number;
  readonly request: number;
  readonly startNs: number;
  readonly endNs: number;
}

/** A request to a server that says nothing about its own queue. */
export interface Call {
  readonly queue: number;
  readonly request: number;
  readonly row: number;
  /** When it reached the server, as far as known: after the waits at its beginning. */
  readonly startNs: number;
  readonly endNs: number;
  /** Without waits inside it that are measured themselves. */
  readonly durationNs: number;
  /** Index into `operations`: calls of one operation cost the same at low load. -1: no statement, no request. */
  readonly operation: number;
  readonly failed: boolean;
}

export interface Activity {
  readonly queues: Queue[];
  readonly waits: WaitList;
  readonly holds: HoldList;
  readonly work: SliceList;
  readonly pauses: SliceList;
  readonly calls: CallList;
  /** Statement or name, its form, and route of each operation. */
  readonly operations: readonly string[];
  /** Some span states `waitfall.segment`: the export is instrumented, nothing needs to be rebuilt. */
  readonly stated: boolean;
  /** Hold spans that could not be used because their times are broken. */
  readonly brokenHolds: number;
}

/** Index of `acquired` in OUTCOMES. */
export const ACQUIRED = OUTCOMES.indexOf('acquired');
