import type { Activity } from '../aggregate/activity.ts';
import type { Parts } from '../aggregate/groups.ts';
import type { ProcessRecords } from '../aggregate/process-records.ts';
import type { Frame, QueueModel } from '../aggregate/queue-model.ts';
import type { Requests } from '../aggregate/requests-types.ts';
import type { WindowRow } from '../aggregate/types.ts';
import type { Metric } from '../model/input.ts';
import type { Chain } from './chain.ts';
import type { FirstQueue } from './first-queue.ts';
import type { Knee } from './knee.ts';
import type { Objective } from './objective.ts';
import type { SpanLookup } from './span-lookup.ts';
import type { VerdictStatus } from './types.ts';

/** Everything the verdict may look at. */
export interface Facts {
  readonly requests: Requests;
  readonly parts: Parts;
  readonly activity: Activity;
  readonly processes: ProcessRecords;
  readonly spans: SpanLookup;
  readonly models: readonly QueueModel[];
  readonly frame: Frame;
  readonly rows: readonly WindowRow[];
  readonly objective: Objective | null;
  /** Trees that count as requests, and those left out because the span they hang under is not in the input. */
  readonly trees: { readonly counted: number; readonly orphans: number };
  /** Waits and holds were rebuilt from official spans: less certain. */
  readonly rebuilt: boolean;
  readonly closedLoop: ClosedLoop | null;
  /** What the processes counted themselves, for sampled and unsampled requests alike. */
  readonly metrics: readonly Metric[];
}

/** A load in which the next request waits for an answer: arrivals follow completions. */
export interface ClosedLoop {
  readonly users: number;
}

/** What the rules decided, before it is put into words. */
export interface Inference {
  readonly status: VerdictStatus;
  /** Why the status is not `saturated`, for people. */
  readonly because: string;
  readonly first: FirstQueue | null;
  readonly knee: Knee | null;
  readonly chain: Chain | null;
  /** Nearest to saturation of the others (of all without a verdict). */
  readonly next: QueueModel | null;
  /** Rate at which that one will be the limit. */
  readonly nextPerSecond: number | null;
}
