import type { Content } from './content-names.ts';
import type { Lane, Series } from './series.ts';
import { type SteadySum, SteadySums } from './steady-sums.ts';

/** Of one lane, by queue: see {@link Lane}. */
export interface LaneSums {
  readonly nested: SteadySums<number>;
  readonly service: SteadySums<number>;
  readonly together: SteadySums<number>;
}

/** What all holds consist of, as far as they were looked at, request by request. */
export class ContentSums {
  readonly #series: readonly Series[];
  readonly #windows: number;
  readonly #lanes = new Map<Lane, LaneSums>();
  /** Lanes in which the same was nested and served as in another. */
  readonly #alike = new Map<Lane, LaneSums>();
  /** By queue: ns by name, and what the first request says of it. */
  readonly #named: {
    readonly sums: SteadySums<string>;
    readonly first: Map<string, boolean>;
  }[];

  constructor(series: readonly Series[]) {
    this.#series = series;
    this.#windows = series[0]?.holds.length ?? 0;
    this.#named = series.map(() => ({ sums: new SteadySums(1), first: new Map() }));
  }

  of(lane: Lane): LaneSums {
    let sums = this.#lanes.get(lane);
    if (sums === undefined) {
      const none = () => new SteadySums<number>(this.#windows);
      sums = { nested: none(), service: none(), together: none() };
      this.#lanes.set(lane, sums);
    }
    return sums;
  }

  /** What was nested and served in a lane is what was in another one. */
  alike(lane: Lane, other: LaneSums): void {
    this.#alike.set(lane, other);
  }

  /** @returns what {@link addAgain} takes. */
  addNamed(queue: number, { what, movable }: Content, request: number, ns: number): SteadySum {
    const { sums, first } = this.#named[queue];
    // Requests come in order.
    if (!first.has(what)) first.set(what, movable);
    return sums.add(what, request, 0, ns);
  }

  /** Adds to what was named before. */
  addAgain(queue: number, named: SteadySum, request: number, ns: number): void {
    this.#named[queue].sums.addTo(named, request, 0, ns);
  }

  /** Writes the sums to the series. */
  settle(): void {
    for (const [lane, { nested, service }] of [...this.#lanes, ...this.#alike]) {
      for (const [queue, sums] of nested.sums()) lane.nestedNs.set(queue, sums);
      for (const [queue, sums] of service.sums()) lane.serviceNs.set(queue, sums);
    }
    for (const [lane, { together }] of this.#lanes) {
      for (const [queue, sums] of together.sums()) lane.togetherNs.set(queue, sums);
    }
    for (const [queue, { contents }] of this.#series.entries()) {
      const { sums, first } = this.#named[queue];
      for (const [what, [ns]] of sums.sums()) contents.set(what, { ns, movable: first.get(what)! });
    }
  }
}
