import { backlogGrowth, isStable } from '../aggregate/backlog-growth.ts';
import type { QueueModel } from '../aggregate/queue-model.ts';
import type { Window } from '../aggregate/windows.ts';
import { holdsBacklog, ratedByPlateau } from './backlog.ts';
import { findChain } from './chain.ts';
import type { Facts, Inference } from './facts.ts';
import { findFirst } from './first-queue.ts';
import { forecast } from './forecast.ts';
import { findKnee } from './knee.ts';
import { percent, perSecond } from './numbers.ts';
import { lossesGrow } from './saturation.ts';

/** Fewer requests than this say nothing about a queue. */
const FEWEST_REQUESTS = 30;
/** Rates that differ by less are one rate. */
const LEAST_VARIATION = 1.2;
/** A service that leaves this share of what arrives in a window unfinished does not keep up. */
const BEHIND = 0.2;

/** The status, and rules 6 to 9 where they may be applied. */
export function decide(facts: Facts): Inference {
  const { models, frame, requests, activity } = facts;
  const backlogged = (model: QueueModel) => holdsBacklog(model, models, frame, requests);
  const ahead = forecast(
    models.filter((model) => !ratedByPlateau(model) || backlogged(model)),
    frame,
  );
  const refuse = (status: Inference['status'], because: string): Inference => ({
    status,
    because,
    first: null,
    knee: null,
    chain: null,
    next: status === 'not-enough-data' || ahead === null ? null : ahead.model,
    nextPerSecond: status === 'not-enough-data' || ahead === null ? null : ahead.perSecond,
  });
  const missing = missingData(facts);
  if (missing !== null) return refuse('not-enough-data', missing);
  const rates = frame.rising.map((w) => frame.timeline.windows[w].arrivalsPerSecond);
  if (rates.length < 2 || rates[rates.length - 1] < LEAST_VARIATION * rates[0]) {
    return refuse(
      'not-enough-load-variation',
      rates.length < 2
        ? `the input has one rate (${perSecond(frame.topRate)}): how queues grow cannot be seen, only how much room they have`
        : `rates between ${perSecond(rates[0])} and ${perSecond(rates[rates.length - 1])} are too near to see queues grow`,
    );
  }
  const first = findFirst(
    models,
    frame,
    facts.closedLoop !== null,
    (model) => (model.kind !== 'downstream' && !ratedByPlateau(model)) || backlogged(model),
  );
  if (first === null) {
    const losing = models.find((model) => model.saturatesAt === null && lossesGrow(model));
    if (losing) {
      return refuse(
        'not-enough-data',
        `${losing.name} turns away up to ${percent(losing.topLoss)} of what arrives, and its number of servers is neither stated (waitfall.resource.capacity) nor to be seen: whether it is full cannot be told`,
      );
    }
    const behind = firstWindowBehind(frame);
    if (behind !== null) {
      return refuse(
        'not-enough-data',
        `from ${perSecond(behind.arrivalsPerSecond)} on the service falls behind what arrives, yet no queue in the input is full: what holds it up is not in these spans, or a part of them is missing`,
      );
    }
    return refuse('not-saturated', `no queue is full and growing up to ${perSecond(frame.topRate)}`);
  }
  const knee = findKnee(first.model, first.rate, first.rule === '7a', models, frame, activity, requests);
  const next = nextAfter(first.model, models);
  return {
    status: 'saturated',
    because: '',
    first,
    knee,
    chain: findChain(first.model, knee.perSecond, models, frame, requests),
    next,
    nextPerSecond: next?.saturatesAt ?? null,
  };
}

/** The lowest rate at which the backlog grows for certain, by more than bursts explain. */
function firstWindowBehind({ timeline, rising }: Facts['frame']): Window | null {
  const { windows, inFlight } = timeline;
  const behind = rising
    .map((w) => windows[w])
    .filter(
      (window) =>
        isStable(inFlight, window) === false &&
        backlogGrowth(inFlight, window).growth > BEHIND * window.requests,
    );
  return behind[0] ?? null;
}

function nextAfter(first: QueueModel, models: readonly QueueModel[]): QueueModel | null {
  return models.find((model) => model !== first && model.saturatesAt !== null) ?? null;
}

function missingData({ requests, models, frame, activity }: Facts): string | null {
  let inside = 0;
  let good = 0;
  const success = requests.outcomes.indexOf('success');
  for (let i = 0; i < requests.count; i++) {
    if (requests.window[i] < 0) continue;
    inside++;
    if (requests.outcome[i] === success) good++;
  }
  if (requests.count === 0) return 'the input holds no request';
  if (inside === 0) return 'no request starts inside a window';
  if (inside < FEWEST_REQUESTS) {
    return `${inside} ${inside === 1 ? 'request is' : 'requests are'} too few to tell queueing from chance; ${FEWEST_REQUESTS} are the least`;
  }
  if (good === 0) {
    return `all ${inside} requests failed: a service that serves nothing has no capacity to be measured`;
  }
  if (frame.rising.length === 0) return 'no window has requests of its own: all are recovery';
  if (
    activity.waits.length === 0 &&
    activity.holds.length === 0 &&
    activity.work.length === 0 &&
    models.length === 0
  ) {
    return 'the input states no waits, holds or calls to other servers: there is no queue to judge';
  }
  return null;
}
