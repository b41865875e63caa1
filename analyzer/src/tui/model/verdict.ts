import type { WindowRow } from '../../aggregate/types.ts';
import { count, rate } from '../../report/units.ts';
import type { Session } from '../session.ts';

/** @returns the sentence of the verdict, in versions from long to short. */
export function verdictSentence(session: Session): string[] {
  const { verdict, requests, windows } = session.report;
  const top = windows.length > 0 ? Math.max(...windows.map((window) => window.receivedPerSecond)) : null;
  const next = verdict.next;
  switch (verdict.status) {
    case 'saturated': {
      const name = verdict.first?.resource ?? 'unknown';
      const knee = verdict.kneePerSecond;
      const at = knee === null ? '' : `, at about ${rate(knee).replace('/s', ' requests/s')}`;
      const short = knee === null ? '' : ` at ~${rate(knee)}`;
      return [`${name} fills first${at}.`, `${name} fills first${short}.`, `${name} fills first`];
    }
    case 'not-saturated': {
      const up = top === null ? '' : ` up to ${rate(top)}`;
      const then = next
        ? ` The next would be ${next.resource} at about ${rate(next.saturatesAtPerSecond)}.`
        : '';
      return [`No queue saturated${up}.${then}`, `No queue saturated${up}.`, 'No queue saturated'];
    }
    case 'not-enough-data':
      return [
        `Not enough data for a verdict: ${count(requests.count)} requests.`,
        `Not enough data: ${count(requests.count)} requests`,
      ];
    case 'not-enough-load-variation': {
      const then = next
        ? ` First to fill would be ${next.resource}, at about ${rate(next.saturatesAtPerSecond)}.`
        : '';
      return [
        `The load hardly varies, so no knee can be seen.${then}`,
        'The load hardly varies: no knee to see.',
      ];
    }
  }
}

/** @returns the sentence about how sure the verdict is, long and short. */
export function confidenceSentence(session: Session): string[] {
  const { confidence } = session.report.verdict;
  const reasons = confidence.reasons.join(' · ');
  return [`Confidence ${confidence.level}: ${reasons}`, `Confidence ${confidence.level}`];
}

/** @returns the range and number of steps of the load: `12 steps 20–180/s`. */
export function loadSummary(session: Session): string {
  const { windows, requests } = session.report;
  if (windows.length === 0) return `${count(requests.count)} requests`;
  const rates = windows.map((window) => window.plannedPerSecond ?? window.receivedPerSecond);
  const low = Math.min(...rates);
  const high = Math.max(...rates);
  const what = windows.some((window) => window.plannedPerSecond !== null) ? 'step' : 'window';
  return `${windows.length} ${what}${windows.length === 1 ? '' : 's'} ${rate(low).replace('/s', '')}–${rate(high)}`;
}

/** @returns the windows up to the highest rate, by rate: later, slower ones drain the backlog of those before. */
export function risingWindows(session: Session): WindowRow[] {
  const { windows } = session.report;
  const rateOf = (window: WindowRow): number => window.plannedPerSecond ?? window.receivedPerSecond;
  let top = 0;
  windows.forEach((window, index) => {
    if (rateOf(window) > rateOf(windows[top])) top = index;
  });
  return windows.slice(0, top + 1).sort((a, b) => rateOf(a) - rateOf(b));
}
