import type { Facts } from '../facts.ts';
import { percent, perSecond } from '../numbers.ts';
import type { Finding } from './finding.ts';

/** Planned and received may differ by this share, and by four standard deviations of a Poisson count. */
const LEAST_SHARE = 0.05;
const NOISE = 4;

interface Missing {
  readonly rate: number;
  readonly sent: number;
  readonly received: number;
  readonly exact: boolean;
}

/** Requests the generator sent and the export does not hold (or the other way round): is the export complete? */
export const sentNotReceived: Finding<Missing> = {
  id: 'sent-not-received',
  check({ frame }) {
    if (frame.timeline.sampling.kind !== 'none') return [];
    return frame.timeline.windows.flatMap((window) => {
      const { step } = window;
      if (!step) return [];
      const sent = step.started ?? step.planned ?? step.arrivalsPerSecond * window.seconds;
      const difference = Math.abs(sent - window.requests);
      const exact = step.started !== null;
      const noise = exact ? 0 : NOISE * Math.sqrt(Math.max(1, sent));
      if (difference <= Math.max(LEAST_SHARE * sent, noise)) return [];
      return [{ rate: step.arrivalsPerSecond, sent, received: window.requests, exact }];
    });
  },
  format: ({ rate, sent, received, exact }) =>
    `step of ${perSecond(rate)}: ${Math.round(sent)} ${exact ? 'sent' : 'planned'}, ${Math.round(received)} in the export (${percent(Math.abs(sent - received) / sent)} ${received < sent ? 'missing: lost spans, refused connections or still in flight at the end' : 'more: another client, or retries as new requests'})`,
  summary: (count) => (count === 1 ? 'step with missing requests' : 'steps with missing requests'),
  values: ({ sent, received }) => ({ sent, received }),
};

/** Traces that a tail sampler chose and did not weight: slow and failed ones are over-represented by an unknown factor. */
export const chosenWithoutWeight: Finding<{ readonly chosen: number; readonly requests: number }> = {
  id: 'sampled-without-weights',
  check: ({ frame, requests }) =>
    frame.timeline.sampling.kind !== 'tail-fitted' && requests.chosenWithoutWeight > 0
      ? [{ chosen: requests.chosenWithoutWeight, requests: requests.count }]
      : [],
  format: ({ chosen, requests }) =>
    `${percent(chosen / requests)} of the requests were chosen by a tail sampler (tailsampling.policy) without a weight (tracestate ot=th): rates, shares and percentiles are biased; turn on the sampler's feature gate usetracestate, or export everything`,
  summary: () => 'requests sampled without weights',
  values: ({ chosen, requests }) => ({ chosen, requests }),
};

/** Parts of traces whose callers are elsewhere: what they did at the queues is in no number. */
export const orphansLeftOut: Finding<Facts['trees']> = {
  id: 'orphans-left-out',
  check: ({ trees }) => (trees.orphans > trees.counted ? [trees] : []),
  format: ({ counted, orphans }) =>
    `${orphans} trees hang under a span that is not in the input, ${counted} under none: only these count as requests, what the others did at the queues is in no number; give the export of their callers too`,
  summary: () => 'trees without their callers',
  values: ({ counted, orphans }) => ({ requests: counted, orphans }),
};

/** Holds that never ended: leaked, or the process was killed. */
export const holdsWithoutEnd: Finding<number> = {
  id: 'holds-without-end',
  check: ({ activity }) => (activity.brokenHolds > 0 ? [activity.brokenHolds] : []),
  format: (broken) =>
    `${broken} holds have no valid end and were left out: utilisation of their queues is too low by that much`,
  summary: () => 'holds without an end',
  values: (broken) => ({ holds: broken }),
};

export const disturbedSteps: Finding<number> = {
  id: 'disturbed-step',
  check: ({ frame }) =>
    frame.timeline.windows
      .filter((window) => window.step?.disturbed)
      .map((window) => window.arrivalsPerSecond),
  format: (rate) => `the step of ${perSecond(rate)} was disturbed by other programs, says the load generator`,
  summary: (count) => (count === 1 ? 'disturbed step' : 'disturbed steps'),
  values: (rate) => ({ arrivalsPerSecond: rate }),
};
