import type { Activity } from './activity.ts';
import type { LaneSums } from './content-sums.ts';
import type { Baselines } from './opaque.ts';

/** A call of which less lies inside the hold than this share of it began or ended outside. */
const MOSTLY_INSIDE = 0.5;

/** How much of each call and connection lies inside the hold looked at. */
export class ServedInside {
  readonly #activity: Activity;
  readonly #baselines: Baselines;
  /** By call (wait): ns of it inside the hold; 0 but for those in the list beside it. */
  readonly #callNs: Float64Array;
  readonly #connectNs: Float64Array;
  readonly #calls: number[] = [];
  readonly #connections: number[] = [];

  constructor(activity: Activity, baselines: Baselines) {
    this.#activity = activity;
    this.#baselines = baselines;
    this.#callNs = new Float64Array(activity.calls.length);
    this.#connectNs = new Float64Array(activity.waits.length);
  }

  call(i: number, ns: number): void {
    note(this.#callNs, this.#calls, i, ns);
  }

  connection(i: number, ns: number): void {
    note(this.#connectNs, this.#connections, i, ns);
  }

  /** Adds the calls and connections noted, and forgets them. */
  addTo(lanes: readonly LaneSums[], request: number, w: number, weight: number): void {
    const { calls, waits } = this.#activity;
    for (const i of this.#calls) {
      const insideNs = this.#callNs[i];
      this.#callNs[i] = 0;
      const served = {
        queue: calls.queue[i],
        durationNs: calls.durationNs[i],
        baseNs: this.#baselines.callNs[i],
      };
      addServed(lanes, served, insideNs, request, w, weight);
    }
    for (const i of this.#connections) {
      const insideNs = this.#connectNs[i];
      this.#connectNs[i] = 0;
      const durationNs = waits.endNs[i] - waits.startNs[i];
      const served = { queue: waits.queue[i], durationNs, baseNs: this.#baselines.connectionNs[i] };
      addServed(lanes, served, insideNs, request, w, weight);
    }
    this.#calls.length = 0;
    this.#connections.length = 0;
  }
}

function note(sums: Float64Array, noted: number[], i: number, ns: number): void {
  if (sums[i] === 0) noted.push(i);
  sums[i] += ns;
}

/** Splits the time of one call inside a hold into its cost at low load and the (signed) excess. */
function addServed(
  lanes: readonly LaneSums[],
  { queue, durationNs, baseNs }: { queue: number; durationNs: number; baseNs: number },
  insideNs: number,
  request: number,
  w: number,
  weight: number,
): void {
  if (insideNs <= MOSTLY_INSIDE * durationNs && durationNs <= baseNs) return;
  const serviceNs = Math.min(insideNs, baseNs);
  // A call faster than its mean at low load: negative excess, so that the mean excess there is 0.
  const faster = insideNs < baseNs && insideNs > 0.9 * durationNs ? baseNs - insideNs : 0;
  for (const lane of lanes) {
    lane.service.add(queue, request, w, serviceNs * weight);
    lane.nested.add(queue, request, w, (insideNs - serviceNs - faster) * weight);
  }
}
