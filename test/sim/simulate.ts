import { Ledger } from './accounting.ts';
import { closedArrivals, openArrivals } from './arrivals.ts';
import { Task } from './event-queue.ts';
import { serve } from './process/serve.ts';
import { type Replica, World } from './process/world.ts';
import { draw, Random } from './random.ts';
import type { Run, RunOptions, SimRequest } from './run.ts';
import { EVENT_LOOP, type Scenario } from './scenario.ts';

/** The loop picks up its next callback this long after a pause. */
const AFTER_PAUSE_NS = 1_000;

/** Runs a scenario. The same scenario and options give the same run, to the ns. */
export function simulate(scenario: Scenario, options: RunOptions): Run {
  return new Simulation(scenario, options).run();
}

/** Starts requests as they arrive and pauses as they come; what a request does stands in `process/`. */
class Simulation {
  readonly #world: World;
  readonly #options: RunOptions;
  readonly #requests: SimRequest[] = [];
  #inFlight = 0;
  /** Closed loops hear of every response. */
  #ended: ((request: SimRequest) => void) | null = null;

  constructor(scenario: Scenario, options: RunOptions) {
    this.#world = new World(scenario, options.record);
    this.#options = options;
  }

  run(): Run {
    const { scenario, events, replicas, endNs, log, stats, stepStartsNs } = this.#world;
    const arrive = (step: number): number => this.#arrive(step);
    if (scenario.load.closed) this.#ended = closedArrivals(events, scenario, arrive);
    else openArrivals(events, scenario, arrive);
    for (const replica of replicas) this.#schedulePause(replica, 1);
    events.run(this.#options.stopAtEnd ? endNs : Number.POSITIVE_INFINITY);
    return {
      scenario,
      requests: this.#requests,
      spans: log?.spans ?? [],
      stats,
      stepStartsNs,
      gauges: this.#world.gauges(),
      endNs: events.now,
    };
  }

  #schedulePause(replica: Replica, n: number): void {
    const { scenario, events, stats, queues, log, endNs } = this.#world;
    const { pauses, seed } = scenario;
    if (!pauses) return;
    const random = new Random(seed, 7, replica.index, n);
    events.at(events.now + Math.round(pauses.everyNs * random.between(0.7, 1.3)), {
      run: () => {
        const length = draw(random, pauses.length);
        const start = replica.loop.enter(events.now, length + AFTER_PAUSE_NS);
        stats.addBusy(queues.loop, length);
        const span = log?.open(null, -1, 'pause', replica.index, start, {
          resource: EVENT_LOOP,
        });
        if (span) span.endNs = start + length;
        if (events.now < endNs || this.#inFlight > 0) this.#schedulePause(replica, n + 1);
      },
    });
  }

  /** @returns the number of the request. */
  #arrive(step: number): number {
    const world = this.#world;
    const { seed, routes, locks, replicas } = world.scenario;
    const id = this.#requests.length;
    const arrivalNs = world.events.now;
    const random = new Random(seed, 1, id);
    const route = random.weighted(routes.map((r) => r.weight));
    const replica = world.replicas[random.weighted(replicas)];
    let hot = 0;
    const keys = locks.map((lock) => {
      const toHot = random.chance(lock.hotShare);
      if (toHot) hot = 1;
      return toHot ? random.below(lock.hotKeys) : lock.hotKeys + random.below(lock.coldKeys);
    });
    const { name } = routes[route];
    const root = world.log?.open(null, id, 'root', replica.index, arrivalNs, { name }) ?? null;
    const request: SimRequest = {
      id,
      route,
      visitClass: route * 2 + hot,
      replica: replica.index,
      step,
      arrivalNs,
      endNs: -1,
      outcome: 'success',
      ledger: world.log ? new Ledger() : null,
      root,
    };
    this.#requests.push(request);
    this.#inFlight++;
    const simulation = this;
    new Task(function* (task) {
      yield* serve({
        world,
        request,
        replica,
        parent: root,
        ledger: request.ledger,
        random,
        task,
        keys,
        pool: -1,
        held: [],
        atEnd: [],
      });
      simulation.#inFlight--;
      simulation.#ended?.(request);
    }).run();
    return id;
  }
}
