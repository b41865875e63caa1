/** One step of a load plan; times as epoch ns. */
export interface LoadStep {
  readonly startUnixNano: bigint;
  readonly endUnixNano: bigint;
  readonly arrivalsPerSecond: number;
  readonly phase: string | null;
  /** Counts of the load generator, null where it does not state them. */
  readonly planned: number | null;
  readonly started: number | null;
  readonly dropped: number | null;
  readonly succeeded: number | null;
  readonly rejected: number | null;
  readonly timedOut: number | null;
  readonly transportFailed: number | null;
  readonly invalid: number | null;
  readonly cancelled: number | null;
  readonly disturbed: boolean;
}

/** A validated load plan (`load.json`): what was sent when. */
export interface LoadPlan {
  /** In order of start, not overlapping. */
  readonly steps: readonly LoadStep[];
  readonly objective: Readonly<Record<string, unknown>> | null;
  readonly manifest: Readonly<Record<string, unknown>> | null;
  readonly invariants: readonly {
    readonly name: string;
    readonly holds: boolean | null;
    readonly detail: string;
  }[];
}

/** A plan, or null with the reason; `notes` say what was repaired in an accepted plan. */
export interface ParsedPlan {
  readonly plan: LoadPlan | null;
  readonly notes: readonly string[];
}

/** Epoch ns before 2001 or after 2100 are a mistake of unit (seconds, ms or µs were written). */
const EARLIEST_NS = 1_000_000_000_000_000_000n;
const LATEST_NS = 4_102_444_800_000_000_000n;

/**
 * Validates a load plan. Only `steps[].{startUnixNano, endUnixNano, arrivalsPerSecond}` are required; unknown keys
 * are ignored. Steps out of order are sorted, a step that reaches into the next is cut there: both are said.
 */
export function parseLoadPlan(content: unknown, where = 'load plan'): ParsedPlan {
  const refuse = (reason: string): ParsedPlan => ({ plan: null, notes: [`${where}: ${reason}`] });
  if (!isObject(content)) return refuse('is not a JSON object; expected { "steps": [ … ] }');
  const rawSteps = content.steps;
  if (!Array.isArray(rawSteps) || rawSteps.length === 0) {
    return refuse('has no "steps"; each needs startUnixNano, endUnixNano and arrivalsPerSecond');
  }
  const notes: string[] = [];
  const steps: LoadStep[] = [];
  for (const [i, raw] of rawSteps.entries()) {
    if (!isObject(raw)) return refuse(`steps[${i}] is not an object`);
    const start = nanoseconds(raw.startUnixNano);
    const end = nanoseconds(raw.endUnixNano);
    const rate = finite(raw.arrivalsPerSecond);
    for (const [key, time] of [
      ['startUnixNano', start],
      ['endUnixNano', end],
    ] as const) {
      if (time === null) return refuse(`steps[${i}].${key} is missing or no integer of nanoseconds`);
      if (time < EARLIEST_NS || time > LATEST_NS) {
        return refuse(`steps[${i}].${key} is ${time}, not epoch nanoseconds (seconds or milliseconds?)`);
      }
    }
    if (rate === null || rate < 0) {
      return refuse(`steps[${i}].arrivalsPerSecond is missing or no rate (a number >= 0, per second)`);
    }
    if (end! <= start!) return refuse(`steps[${i}] ends at or before its start`);
    steps.push({
      startUnixNano: start!,
      endUnixNano: end!,
      arrivalsPerSecond: rate,
      phase: typeof raw.phase === 'string' ? raw.phase : null,
      planned: finite(raw.planned),
      started: finite(raw.started),
      dropped: finite(raw.dropped),
      succeeded: finite(raw.succeeded),
      rejected: finite(raw.rejected),
      timedOut: finite(raw.timedOut),
      transportFailed: finite(raw.transportFailed),
      invalid: finite(raw.invalid),
      cancelled: finite(raw.cancelled),
      disturbed: raw.disturbed === true,
    });
  }
  const sorted = [...steps].sort((a, b) => compare(a.startUnixNano, b.startUnixNano));
  if (sorted.some((step, i) => step !== steps[i])) {
    notes.push(`${where}: steps are not in order of time; they were sorted`);
  }
  const kept: LoadStep[] = [];
  for (const [i, step] of sorted.entries()) {
    const next = sorted[i + 1];
    if (next === undefined || step.endUnixNano <= next.startUnixNano) kept.push(step);
    else {
      const ms = Number(step.endUnixNano - next.startUnixNano) / 1e6;
      notes.push(`${where}: two steps overlap by ${ms.toFixed(0)} ms; the earlier one was cut there`);
      if (next.startUnixNano > step.startUnixNano) {
        kept.push({ ...step, endUnixNano: next.startUnixNano });
      }
    }
  }
  return {
    plan: {
      steps: kept,
      objective: isObject(content.objective) ? content.objective : null,
      manifest: isObject(content.manifest) ? content.manifest : null,
      invariants: invariantsOf(content.invariants),
    },
    notes,
  };
}

/**
 * Whether a plan belongs to these traces. A plan in which no request starts is of another run: it is not used.
 *
 * @param starts epoch ns of the root starts
 */
export function planAgainstTraces(
  plan: LoadPlan,
  first: bigint,
  last: bigint,
  inside: number,
  total: number,
  where = 'load plan',
): { readonly usable: boolean; readonly notes: readonly string[] } {
  const from = plan.steps[0].startUnixNano;
  const to = plan.steps.at(-1)!.endUnixNano;
  if (inside === 0) {
    const apart = last < from ? from - last : first >= to ? first - to : 0n;
    const side = last < from ? 'before it begins' : first >= to ? 'after it ends' : 'between its steps';
    return {
      usable: false,
      notes: [
        `${where}: does not overlap the traces: it covers ${iso(from)} to ${iso(to)}, all requests start ${side}` +
          `${apart > 0n ? ` (${(Number(apart) / 1e9).toFixed(1)} s apart)` : ''}; it is of another run or clock and was not used`,
      ],
    };
  }
  const notes: string[] = [];
  if (inside < 0.9 * total) {
    const share = ((100 * (total - inside)) / total).toFixed(0);
    notes.push(
      `${where}: ${total - inside} of ${total} requests (${share} %) start outside its steps; they are in no window`,
    );
  }
  return { usable: true, notes };
}

function invariantsOf(value: unknown): LoadPlan['invariants'] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).map((item) => ({
    name: String(item.name ?? 'unnamed'),
    holds: typeof item.holds === 'boolean' ? item.holds : null,
    detail: typeof item.detail === 'string' ? item.detail : '',
  }));
}

function nanoseconds(value: unknown): bigint | null {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return BigInt(Math.round(value));
  return typeof value === 'string' && /^\d{1,20}$/.test(value) ? BigInt(value) : null;
}

function finite(value: unknown): number | null {
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function iso(ns: bigint): string {
  return new Date(Number(ns / 1_000_000n)).toISOString();
}

/**
 * Limits a plan to a part of the run: steps outside it go, a step cut by it keeps its rate but not its counts, which are
 * those of the whole step.
 */
export function clipPlan(
  plan: LoadPlan,
  fromUnixNano: bigint | undefined,
  toUnixNano: bigint | undefined,
): LoadPlan {
  const steps = plan.steps.flatMap((step): LoadStep[] => {
    const startUnixNano = later(step.startUnixNano, fromUnixNano);
    const endUnixNano = earlier(step.endUnixNano, toUnixNano);
    if (startUnixNano >= endUnixNano) return [];
    if (startUnixNano === step.startUnixNano && endUnixNano === step.endUnixNano) return [step];
    return [{ ...step, ...NO_COUNTS, startUnixNano, endUnixNano }];
  });
  return { ...plan, steps };
}

const NO_COUNTS = {
  planned: null,
  started: null,
  dropped: null,
  succeeded: null,
  rejected: null,
  timedOut: null,
  transportFailed: null,
  invalid: null,
  cancelled: null,
} as const;

function later(a: bigint, b: bigint | undefined): bigint {
  return b !== undefined && b > a ? b : a;
}

function earlier(a: bigint, b: bigint | undefined): bigint {
  return b !== undefined && b < a ? b : a;
}
