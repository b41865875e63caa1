import type { EventQueue } from './event-queue.ts';
import { draw, Random } from './random.ts';
import type { Scenario } from './scenario.ts';

/** Starts one request of the given load step now. @returns its number. */
export type ArrivalHandler = (step: number) => number;

/** Mean time between the arrivals of one burst. */
const BURST_GAP_NS = 500_000;

/** Open loop: arrivals know nothing of answers. */
export function openArrivals(events: EventQueue, scenario: Scenario, arrive: ArrivalHandler): void {
  const { load, seed } = scenario;
  const random = new Random(seed, 4);
  let step = 0;
  let stepStart = 0;
  let slot = 0;
  let left = 0;
  /** @returns the time of the next arrival after `now`, moving on to the step it falls into; -1 after the last. */
  const next = (now: number): number => {
    let from = now;
    for (; step < load.steps.length; step++, slot = 0) {
      const { arrivalsPerSecond, durationNs } = load.steps[step];
      const gap = 1e9 / arrivalsPerSecond;
      const end = stepStart + durationNs;
      let at: number;
      if (load.arrivals === 'even') {
        at = stepStart + (slot + random.next()) * gap;
        if (at < end) slot++;
      } else if (load.arrivals === 'bursty' && left > 0) {
        left--;
        at = from + random.exponential(BURST_GAP_NS);
      } else if (load.arrivals === 'bursty') {
        at = from + random.exponential(gap * load.burst);
        left = Math.floor(Math.log(random.next()) / Math.log(1 - 1 / load.burst));
      } else at = from + random.exponential(gap);
      if (at < end) return Math.max(now, Math.round(at));
      stepStart = end;
      from = end;
    }
    return -1;
  };
  const event = {
    run: (): void => {
      arrive(step);
      const at = next(events.now);
      if (at >= 0) events.at(at, event);
    },
  };
  const first = next(0);
  if (first >= 0) events.at(first, event);
}

/** Closed loop: every user sends, waits for the answer, thinks. @returns what to call when a request has ended. */
export function closedArrivals(
  events: EventQueue,
  scenario: Scenario,
  arrive: ArrivalHandler,
): (request: { readonly id: number }) => void {
  const { load, seed } = scenario;
  const random = new Random(seed, 5);
  const think = (): number => (load.closed ? draw(random, load.closed.think) : 0);
  const users = new Map<number, number>();
  const parked = new Set<number>();
  let step = 0;
  let allowed = 0;
  let known = 0;
  const send = (user: number): void => {
    if (user >= allowed) parked.add(user);
    else users.set(arrive(step), user);
  };
  const wake = (user: number): void => {
    events.at(events.now + think(), { run: () => send(user) });
  };
  let at = 0;
  load.steps.forEach((loadStep, i) => {
    events.at(at, {
      run: () => {
        step = i;
        allowed = loadStep.users ?? 1;
        for (const user of parked) {
          if (user >= allowed) continue;
          parked.delete(user);
          wake(user);
        }
        for (; known < allowed; known++) wake(known);
      },
    });
    at += loadStep.durationNs;
  });
  events.at(at, {
    run: () => {
      allowed = 0;
    },
  });
  return ({ id }) => {
    const user = users.get(id);
    users.delete(id);
    if (user !== undefined) wake(user);
  };
}
