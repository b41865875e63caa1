import type { SplitExplanation } from '../aggregate/split.ts';
import type { Recovery, RequestGroup, ResourceRow, RouteGroup, WindowRow } from '../aggregate/types.ts';
import type { Verdict } from '../infer/types.ts';
import type { InputFile, Rejected } from '../model/input.ts';
import type { SkewPair } from '../tree/types.ts';

export type { Recovery } from '../aggregate/types.ts';

/** What was read, repaired and refused. */
export interface InputSection {
  readonly files: readonly InputFile[];
  readonly spanRecords: number;
  readonly spans: number;
  readonly traces: number;
  readonly requests: number;
  readonly roots: number;
  readonly orphanRoots: number;
  readonly cycles: number;
  readonly duplicates: number;
  readonly conflicts: number;
  readonly quarantined: number;
  readonly quarantinedSubtree: number;
  readonly invalidIds: number;
  readonly clamped: number;
  readonly adopted: number;
  readonly detached: number;
  readonly detachedNs: bigint;
  readonly abandoned: number;
  readonly abandonedNs: bigint;
  readonly skew: readonly SkewPair[];
  readonly rejected: readonly Rejected[];
  readonly metrics: { readonly metrics: number; readonly dataPoints: number };
  readonly skipped: { readonly logs: number; readonly profiles: number };
}

/** The requests by the values of one attribute (`--by`). */
export interface SplitSection {
  readonly attribute: string;
  /** The most time first; requests without the attribute under the value null. */
  readonly values: readonly SplitGroup[];
  /** Set when one value explains the slow part. */
  readonly explanation: SplitExplanation | null;
}

export interface SplitGroup extends RequestGroup {
  readonly value: string | null;
  /** The same windows as those of the report, with this value's requests only. */
  readonly windows: readonly SplitWindow[];
}

export type SplitWindow = Pick<WindowRow, 'startUnixNano' | 'byOutcome' | 'latencyNs'>;

/** The whole answer; the JSON report is this object (bigint as integers, epoch ns as strings). */
export interface Report {
  readonly schemaVersion: 1;
  readonly generatedBy: string;
  readonly input: InputSection;
  readonly requests: RequestGroup;
  readonly routes: readonly RouteGroup[];
  readonly windows: readonly WindowRow[];
  readonly resources: readonly ResourceRow[];
  readonly recovery: Recovery | null;
  readonly verdict: Verdict;
  /** Present only when a split was asked for. */
  readonly by?: SplitSection;
}
