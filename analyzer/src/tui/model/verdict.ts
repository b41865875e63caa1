import type { WindowRow } from '../../aggregate/types.ts';
import type { ResourceKind } from '../../classify/types.ts';
import { count, duration, number, percent, rate } from '../../report/units.ts';
import type { Session } from '../session.ts';

/** @returns the sentence of the verdict, in versions from long to short. */
export function verdictSentence(session: Session): string[] {
  const { verdict, requests, windows } = session.report;
  const top = windows.length > 0 ? Math.max(...windows.map((window) => window.receivedPerSecond)) : null;
  const next = verdict.next;
  switch (verdict.status) {
    case 'saturated':
      return saturatedSentence(session);
    case 'not-saturated': {
      const up = top === null ? '' : ` up to ${rate(top)}`;
      const then = next
        ? ` The next would be ${next.resource} at about ${rate(next.saturatesAtPerSecond)}.`
        : '';
      return [`No queue saturated${up}.${then}`, `No queue saturated${up}.`, 'No queue saturated'];
    }
    case 'not-enough-data':
      return [
        `Not enough data for a verdict: ${requestsText(requests.count)}.`,
        `Not enough data: ${requestsText(requests.count)}`,
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

function saturatedSentence(session: Session): string[] {
  const { verdict } = session.report;
  const first = verdict.first?.resource ?? 'unknown';
  const ties = verdict.acceptable.filter((name) => name !== first);
  const names = [first, ...ties];
  const who =
    ties.length === 0
      ? `${first} fills first`
      : `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]} fill first`;
  const brief = ties.length === 0 ? who : `${first} fills first (near tie: ${ties.join(', ')})`;
  const knee = verdict.kneePerSecond;
  if (knee === null) return [`${who}.`, `${brief}.`];
  const about = `at about ${rate(knee).replace('/s', ' requests/s')}`;
  const between = aroundKnee(session);
  const range =
    between === null ? '' : ` (between the steps at ${number(between.low)} and ${rate(between.high)})`;
  const short = between === null ? '' : ` (steps ${number(between.low)}–${rate(between.high)})`;
  return [
    `${who}, ${about}${range}.`,
    `${who}, ${about}${short}.`,
    `${who}, ${about}.`,
    `${brief} at ~${rate(knee)}`,
    `${first} fills first at ~${rate(knee)}`,
    `${first} fills first`,
  ];
}

/** @returns the rates of the fastest step that still kept up and of the slowest beyond the knee; null without both. */
export function aroundKnee(session: Session): { low: number; high: number } | null {
  const { below, above } = stepsAroundKnee(session);
  return below && above ? { low: below.receivedPerSecond, high: above.receivedPerSecond } : null;
}

/** @returns the windows on both sides of the knee, before the load fell. */
export function stepsAroundKnee(session: Session): { below?: WindowRow; above?: WindowRow } {
  const knee = session.report.verdict.kneePerSecond;
  if (knee === null) return {};
  const rising = risingWindows(session);
  const below = rising.filter((window) => window.receivedPerSecond <= knee).at(-1);
  const above = rising.find((window) => window.receivedPerSecond > knee);
  return { ...(below ? { below } : {}), ...(above ? { above } : {}) };
}

/** @returns where the limit comes from: visits × hold = demand, and the rate that leaves; empty when unknown. */
export function demandSentence(session: Session): string[] {
  const { verdict, resources } = session.report;
  const row = resources.find(
    ({ resource, kind }) => resource === verdict.first?.resource && kind === verdict.first.kind,
  );
  if (!row || row.ownDemandNs === null || !row.visitsPerRequest) {
    const text = verdict.evidence[0]?.text;
    return text ? [text] : [];
  }
  const visit = row.ownDemandNs / row.visitsPerRequest;
  const visits = number(row.visitsPerRequest);
  const sum =
    visits === '1'
      ? `Held ${duration(row.ownDemandNs)} a request`
      : `${visits} visits × ${duration(visit)} held = ${duration(row.ownDemandNs)} a request`;
  const limit = row.saturatesAtPerSecond === null ? '' : `: ${rate(row.saturatesAtPerSecond)} at most`;
  const flat =
    row.demandFlat === null
      ? ['', '']
      : row.demandFlat
        ? ['. The cost a request stayed flat: the queue grew.', '; cost flat']
        : ['. The cost a request changes with the load.', '; cost changes'];
  return [
    `${sum}${limit} on its own${flat[0]}`,
    `${sum}${limit}${flat[1]}`,
    `${sum}${limit}`,
    sum,
    `${duration(row.ownDemandNs)} a request${limit}`,
  ];
}

/** @returns how sure the verdict is and why, from all reasons down to none. */
export function confidenceSentence(session: Session): string[] {
  const { level, reasons } = session.report.verdict.confidence;
  const head = `Confidence ${level}`;
  const versions = reasons.map((_, left) => {
    const shown = reasons.slice(0, reasons.length - left);
    return `${head}: ${shown.join(' · ')}${left > 0 ? ` · +${left} more` : ''}`;
  });
  const n = reasons.length;
  return [...versions, `${head}, ${n} ${n === 1 ? 'reason' : 'reasons'}`, head];
}

/** The suspect people come with stands first: is the process itself too slow? */
const USUAL_SUSPECTS: readonly ResourceKind[] = ['eventloop', 'pool', 'admission'];

/** @returns what was ruled out, the usual suspects first, each in a long and a short version. */
export function notTheCause(session: Session): { long: string; short: string }[] {
  const { verdict, resources } = session.report;
  const kindOf = (name: string | undefined) => resources.find((row) => row.resource === name)?.kind;
  const place = (name: string | undefined): number => {
    const at = USUAL_SUSPECTS.indexOf(kindOf(name) as ResourceKind);
    return at < 0 ? USUAL_SUSPECTS.length : at;
  };
  return [...verdict.ruledOut]
    .sort((a, b) => place(a.resource) - place(b.resource))
    .map(({ resource, text, values }) => {
      const limit = values?.['saturatesAtPerSecond'];
      const used = values?.['utilization'];
      if (!resource || typeof limit !== 'number') return { long: text, short: resource ?? text };
      const name =
        kindOf(resource) === 'eventloop' ? resource?.replace(/^eventloop/, 'event loop (CPU)') : resource;
      const behind = verdict.chain.some((link) => link.resource === resource);
      const share = behind
        ? `, full only behind ${verdict.first?.resource}`
        : typeof used === 'number'
          ? `, ${percent(used)} used`
          : '';
      return { long: `${name} lasts to ${rate(limit)}${share}`, short: `${name} ${rate(limit)}` };
    });
}

/** @returns what to do where there is no verdict yet; empty otherwise. */
export function whatToDo(session: Session): string[] {
  const { verdict, requests } = session.report;
  switch (verdict.status) {
    case 'not-enough-data':
      return requests.count < 30
        ? [
            'Record more: at least 30 requests, better a few hundred at each of several rates.',
            'Record more: 30 requests at least.',
          ]
        : [
            'Press 6 to see what was read, and what to switch on to measure more.',
            'Press 6 to see what was read.',
          ];
    case 'not-enough-load-variation':
      return [
        'Record a run with rising load (npm run load, or any load generator) to see which queue fills, and at which rate.',
        'Record a run with rising load to see which queue fills.',
      ];
    case 'not-saturated':
      return [
        'Raise the load until something gives: the table shows how far each queue is from its own limit.',
        'Raise the load until something gives.',
      ];
    case 'saturated':
      return [];
  }
}

/** @returns the range and number of steps of the load: `12 steps 20–180/s`. */
export function loadSummary(session: Session): string {
  const { windows, requests } = session.report;
  // The rate of a single request is that of an instant: it says nothing.
  if (windows.length === 0 || requests.count < 2) return 'no load steps';
  const rates = windows.map((window) => window.plannedPerSecond ?? window.receivedPerSecond);
  const low = Math.min(...rates);
  const high = Math.max(...rates);
  const what = windows.some((window) => window.plannedPerSecond !== null) ? 'step' : 'window';
  const span = low === high ? rate(high) : `${rate(low).replace('/s', '')}–${rate(high)}`;
  return `${windows.length} ${what}${windows.length === 1 ? '' : 's'} ${span}`;
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

/** @returns `1 request`, `61,204 requests`. */
export function requestsText(n: number): string {
  return `${count(n)} ${n === 1 ? 'request' : 'requests'}`;
}
