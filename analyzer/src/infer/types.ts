import type { ResourceKind } from '../classify/types.ts';

export type VerdictStatus = 'saturated' | 'not-saturated' | 'not-enough-data' | 'not-enough-load-variation';

export interface QueueName {
  readonly kind: ResourceKind;
  readonly resource: string;
  readonly service: string;
  /** Set when one instance alone is the cause. */
  readonly instance: string | null;
}

/** A queue in the chain: the first one (nulls), then the queues it fills, inner to outer. */
export interface ChainLink {
  readonly kind: ResourceKind;
  readonly resource: string;
  readonly service: string;
  readonly holdGrowthNs: number | null;
  /** Share of that growth spent waiting on the queue before it in the chain. */
  readonly share: number | null;
}

/** A sentence for people with the numbers it rests on, each recomputable from the input. */
export interface Statement {
  /** Stable id: `demand-flat`, `holds-outlive-timeout`, … */
  readonly id: string;
  readonly text: string;
  /** Its label: name, and service where several have a queue of that name. */
  readonly resource?: string;
  readonly values?: Readonly<Record<string, number | string | null>>;
  /** Exemplars: waiter and, where known, blocker. */
  readonly traces?: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly blocker?: { traceId: string; spanId: string };
  }[];
}

export interface WhatIf {
  /** `lock:campaign hold x0.25`: accepted by --what-if as it stands. */
  readonly change: string;
  /** Predicted knee as a range, per second; null where the next limit is unknown. */
  readonly kneePerSecond: { readonly low: number; readonly high: number } | null;
  readonly next: {
    readonly kind: ResourceKind;
    readonly resource: string;
    readonly service: string;
    readonly saturatesAtPerSecond: number;
  } | null;
  readonly text: string;
}

export interface Verdict {
  readonly status: VerdictStatus;
  readonly first: QueueName | null;
  readonly kneePerSecond: number | null;
  readonly capacity: {
    readonly objectivePerSecond: number | null;
    readonly kneePerSecond: number | null;
    readonly firstRejectPerSecond: number | null;
  };
  /** Names as good as `first` (near ties), `first` included; empty without a verdict. */
  readonly acceptable: readonly string[];
  readonly chain: readonly ChainLink[];
  readonly next: {
    readonly kind: ResourceKind;
    readonly resource: string;
    readonly service: string;
    readonly saturatesAtPerSecond: number;
  } | null;
  readonly confidence: { readonly level: 'high' | 'medium' | 'low'; readonly reasons: readonly string[] };
  readonly evidence: readonly Statement[];
  readonly ruledOut: readonly Statement[];
  readonly findings: readonly Statement[];
  readonly whatIf: readonly WhatIf[];
}
