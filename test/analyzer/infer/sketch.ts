import { InFlight } from '../../../analyzer/src/aggregate/in-flight.ts';
import type { Frame, QueueModel } from '../../../analyzer/src/aggregate/queue-model.ts';
import type { Requests } from '../../../analyzer/src/aggregate/requests-types.ts';
import { emptyLane, type Series } from '../../../analyzer/src/aggregate/series.ts';
import type { ResourceKind } from '../../../analyzer/src/classify/types.ts';

/** Windows of 10 s at these rates. */
export const RATES = [20, 40, 60, 80, 100, 120];
const SECONDS = 10;
export const MS = 1e6;

const NO_REQUESTS: Requests = {
  count: 0,
  originUnixNano: 0n,
  tree: new Int32Array(0),
  startNs: new Float64Array(0),
  durationNs: new Float64Array(0),
  outcome: new Uint8Array(0),
  route: new Int32Array(0),
  routes: [],
  weight: new Float64Array(0),
  chosenWithoutWeight: 0,
  window: new Int32Array(0),
  outcomes: [],
  substitutes: false,
};

/** Windows in which demand is taken from the lower ones. */
export function frame(rates: readonly number[] = RATES): Frame {
  const windows = rates.map((arrivalsPerSecond, w) => ({
    startNs: w * SECONDS * 1e9,
    endNs: (w + 1) * SECONDS * 1e9,
    step: null,
    phase: null,
    seconds: SECONDS,
    requests: arrivalsPerSecond * SECONDS,
    arrivalsPerSecond,
  }));
  const all = windows.map((_, w) => w);
  return {
    timeline: {
      windows,
      top: windows.length - 1,
      rising: all,
      sampling: { kind: 'none', keptShare: 1, keptAboveNs: null },
      plan: null,
      notes: [],
      inFlight: new InFlight(NO_REQUESTS),
    },
    rising: all,
    lows: [0, 1],
    pre: all.filter((w) => rates[w] <= 74),
    topRate: Math.max(...rates),
  };
}

export interface Sketch {
  readonly index: number;
  readonly name: string;
  readonly kind: ResourceKind;
  readonly saturatesAt: number | null;
  /** By window: mean wait and mean hold, ms; utilisation. One visit a request. */
  readonly waitMs: readonly number[];
  readonly holdMs?: readonly number[];
  readonly utilization?: readonly (number | null)[];
  /** Waits nested in one hold, ms, by queue index and window. */
  readonly nestedMs?: Readonly<Record<number, readonly number[]>>;
  readonly loss?: readonly number[];
  readonly capacity?: number;
  readonly demandMs?: number;
  /** Its holds were rebuilt from official spans. */
  readonly rebuilt?: boolean;
}

/** A queue as the rules of the verdict see it. */
export function model(sketch: Sketch, rates: readonly number[] = RATES): QueueModel {
  const n = rates.map((rate) => rate * SECONDS);
  const sums = (values: readonly number[]) => Float64Array.from(n, (count, w) => count * values[w] * MS);
  const zeros = rates.map(() => 0);
  const lane = emptyLane(rates.length);
  lane.holds.set(n);
  lane.holdNs.set(sums(sketch.holdMs ?? rates.map(() => 5)));
  for (const [queue, values] of Object.entries(sketch.nestedMs ?? {}))
    lane.nestedNs.set(Number(queue), sums(values));
  const series = {
    ...lane,
    queue: {
      index: sketch.index,
      name: sketch.name,
      kind: sketch.kind,
      holdsRebuilt: sketch.rebuilt ?? false,
    },
    arrivals: Float64Array.from(n),
    waits: Float64Array.from(n),
    waitNs: sums(sketch.waitMs),
  } as unknown as Series;
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  return {
    queue: series.queue,
    name: sketch.name,
    label: sketch.name,
    kind: sketch.kind,
    series,
    lane,
    capacity: sketch.capacity ?? 1,
    processes: 1,
    serversByWindow: null,
    visits: 1,
    demandNs: (sketch.demandMs ?? 5) * MS,
    meanHoldNs: mean(sketch.holdMs ?? [5]) * MS,
    saturatesAt: sketch.saturatesAt,
    saturatesBetween: null,
    serviceNs: new Map(),
    utilization: sketch.utilization ?? rates.map(() => null),
    topWaitNs: Math.max(...sketch.waitMs.slice(-3)) * MS,
    lowWaitNs: mean(sketch.waitMs.slice(0, 2)) * MS,
    topLoss: Math.max(...(sketch.loss ?? zeros).slice(-3)),
    lowLoss: mean((sketch.loss ?? zeros).slice(0, 2)),
  } as unknown as QueueModel;
}
