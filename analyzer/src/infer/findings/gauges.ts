import { compareGauges, type GaugeComparison } from '../gauges.ts';
import { percent, perSecond, short } from '../numbers.ts';
import type { Finding } from './finding.ts';

/** Gauge and spans differ by more than this share … */
const APART = 0.3;
/** … and by more than this many requests: a gauge read now and then misses short queues and catches long ones by chance. */
const LEAST = 1;
const ERRORS = 2;

/** The spans do not add up to what the process counted: some are missing, or holds end later than they say. */
export const gaugeDisagrees: Finding<GaugeComparison> = {
  id: 'gauge-disagrees',
  check: ({ models, frame, requests, metrics }) =>
    compareGauges(models, frame, requests, metrics).filter(({ gauged, fromSpans, points }) => {
      const apart = Math.abs(gauged - fromSpans);
      const most = Math.max(gauged, fromSpans);
      // Counts of a queue scatter about as much as their mean.
      return apart > APART * most && apart > LEAST && apart > (ERRORS * most) / Math.sqrt(points);
    }),
  format: ({ model, gauge, arrivalsPerSecond, gauged, fromSpans, points }) =>
    `${model.label} at ${perSecond(arrivalsPerSecond)}: ${gauge} was ${short(gauged)} on average (${points} readings), the spans add up to ${short(fromSpans)} (Little's law), ${percent(Math.abs(gauged - fromSpans) / Math.max(gauged, fromSpans))} apart: ${
      gauged > fromSpans
        ? 'waits or holds are missing from the export'
        : 'spans say more than the process counted'
    }`,
  summary: (count) =>
    count === 1 ? 'window in which a gauge disagrees' : 'windows in which gauges disagree',
  resource: ({ model }) => model.label,
  values: ({ gauged, fromSpans }) => ({ gauged, fromSpans }),
};
