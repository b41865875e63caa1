import type { Outcome } from '@waitfall/instrumentation/conventions';

/** What a span of the simulation stands for; the renderers decide whether and how it is exported. */
export type SpanRole =
  | 'root'
  | 'handler'
  | 'branch'
  | 'tail'
  | 'work'
  | 'loop'
  | 'pause'
  | 'admission'
  | 'acquire'
  | 'pool'
  | 'connect'
  | 'lock'
  | 'statement'
  | 'call';

/** One span as it happened, exact, in simulated ns. Mutable while the run lasts. */
export interface SimSpan {
  readonly trace: number;
  /** Unique in the run, in order of start. */
  readonly id: number;
  readonly parent: SimSpan | null;
  readonly role: SpanRole;
  readonly replica: number;
  readonly startNs: number;
  endNs: number;
  /** Queue waited for, or server called. */
  readonly resource: string;
  capacity: number | null;
  inUse: number;
  queueDepth: number;
  outcome: Outcome;
  /** From the end of the wait to the release; -1 where nothing is held. */
  holdNs: number;
  /** Row: relation and number, hashed on export. */
  key: string;
  /** Spans of the statements that held the lock meanwhile. */
  blockedBy: readonly SimSpan[];
  failed: boolean;
  /** Calls: when the server took the call up and when it had its answer; -1 elsewhere. The caller may have given up. */
  servedFromNs: number;
  servedToNs: number;
  /** Route, statement verb and table, or operation. */
  readonly name: string;
  readonly table: string;
  /** Index into the scenario's servers or pools; -1 where neither applies. */
  readonly place: number;
}

/** What a span says besides when and where it was. */
export type SpanDetails = Partial<Pick<SimSpan, 'resource' | 'name' | 'table' | 'place'>>;

/** Collects the spans of a run. */
export class SpanLog {
  readonly spans: SimSpan[] = [];

  open(
    parent: SimSpan | null,
    trace: number,
    role: SpanRole,
    replica: number,
    startNs: number,
    details: SpanDetails = {},
  ): SimSpan {
    const span: SimSpan = {
      trace,
      id: this.spans.length,
      parent,
      role,
      replica,
      startNs,
      endNs: startNs,
      resource: details.resource ?? '',
      capacity: null,
      inUse: 0,
      queueDepth: 0,
      outcome: 'acquired',
      holdNs: -1,
      key: '',
      blockedBy: [],
      failed: false,
      servedFromNs: -1,
      servedToNs: -1,
      name: details.name ?? '',
      table: details.table ?? '',
      place: details.place ?? -1,
    };
    this.spans.push(span);
    return span;
  }
}
