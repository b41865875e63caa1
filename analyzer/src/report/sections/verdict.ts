import type { Verdict, WhatIf } from '../../infer/types.ts';
import { type Block, list, paragraph, type Section, section } from '../document.ts';
import type { Report } from '../types.ts';
import { duration, percent, rate } from '../units.ts';

/** The answer in one line, the first word of it fixed so that scripts find it. */
export function verdictLine(report: Report): string {
  const { verdict } = report;
  switch (verdict.status) {
    case 'saturated':
      return firstLine(report, verdict);
    case 'not-saturated': {
      const next = verdict.next
        ? `; next: ${verdict.next.resource} at about ${rate(verdict.next.saturatesAtPerSecond)}`
        : '';
      return `No queue saturated up to ${rate(topRate(report))}${next}`;
    }
    case 'not-enough-load-variation':
      return 'Not enough load variation to name the first saturating queue';
    case 'not-enough-data':
      return 'Not enough data to name the first saturating queue';
  }
}

function firstLine(report: Report, { first, kneePerSecond }: Verdict): string {
  if (first === null) return 'A queue saturated, but which one was first cannot be told';
  const row = report.resources.find((r) => r.resource === first.resource && r.service === first.service);
  const alone = row?.saturatesAtPerSecond ?? null;
  const where = first.instance === null ? '' : ` of instance ${first.instance}`;
  const at = kneePerSecond === null ? '' : ` at ${rate(kneePerSecond)}`;
  const demand = alone === null ? '' : ` (its demand alone: ${rate(alone)})`;
  const line = `First saturating queue: ${first.resource}${where}${at}`;
  return line.length + demand.length <= LINE_CELLS ? line + demand : line;
}

/** What the verdict may take before it leaves out what stands below it anyway. */
const LINE_CELLS = 80;

/** @returns the highest rate of any window, per second; null without windows. */
export function topRate({ windows }: Report): number | null {
  return windows.length === 0 ? null : Math.max(...windows.map((w) => w.receivedPerSecond));
}

/** Why this answer: capacities, chain and evidence. */
export function whySection({ verdict }: Report): Section[] {
  return section('Why', [
    capacityLine(verdict),
    chainLine(verdict),
    nearTies(verdict),
    list(verdict.evidence.map(({ text }) => text)),
  ]);
}

/** What it is not, what would move it, and how sure the answer is. */
export function judgementSections({ verdict }: Report): Section[] {
  return [
    ...section('Not the cause', [list(verdict.ruledOut.map(({ text }) => text))]),
    ...section('What would move the limit', [list(verdict.whatIf.map(whatIfLine))]),
    ...section('Confidence', [
      paragraph([verdict.confidence.level, ...verdict.confidence.reasons].join('; ')),
    ]),
  ];
}

/** What else was noticed, and traces to look at. */
export function findingSections({ verdict }: Report): Section[] {
  return [
    ...section('Findings', [list(verdict.findings.map(({ text }) => text))]),
    ...section('Traces that show it', [exemplars(verdict)]),
  ];
}

function capacityLine({ capacity }: Verdict) {
  const parts = [
    capacity.objectivePerSecond === null
      ? null
      : `the objective breaks at ${rate(capacity.objectivePerSecond)}`,
    capacity.kneePerSecond === null ? null : `goodput has its knee at ${rate(capacity.kneePerSecond)}`,
    capacity.firstRejectPerSecond === null
      ? null
      : `the first rejects come at ${rate(capacity.firstRejectPerSecond)}`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : paragraph(`Capacity: ${parts.join(', ')}.`);
}

function chainLine({ chain }: Verdict) {
  if (chain.length < 2) return null;
  const links = chain.map((link) => {
    if (link.holdGrowthNs === null) return link.resource;
    const share =
      link.share === null
        ? ''
        : `, ${link.share >= 0.995 ? 'all' : percent(link.share)} of it waiting for the queue before`;
    return `${link.resource} (hold ${signed(link.holdGrowthNs)}${share})`;
  });
  return paragraph(`Chain: ${links.join(' → ')}`);
}

function nearTies({ acceptable, first }: Verdict) {
  const others = acceptable.filter((name) => name !== first?.resource);
  if (others.length === 0) return null;
  return paragraph(
    `Near tie: ${others.join(', ')} would saturate at nearly the same rate; raising only one moves the limit by little.`,
  );
}

/** Traces that show a statement, as a table: `waitfall trace` takes the start of an id. */
function exemplars({ evidence, findings }: Verdict): Block | null {
  const rows = [...evidence, ...findings].flatMap(({ resource, id, traces }) =>
    (traces ?? []).map(({ traceId, spanId, blocker }) => [
      resource ?? id,
      traceId.slice(0, ID_CELLS),
      spanId,
      blocker?.traceId.slice(0, ID_CELLS) ?? '',
    ]),
  );
  if (rows.length === 0) return null;
  return {
    type: 'table',
    columns: [
      { title: 'queue', align: 'left', least: 20 },
      { title: 'trace', align: 'left', least: ID_CELLS },
      { title: 'span', align: 'left', least: ID_CELLS, spare: 1 },
      { title: 'blocked by trace', align: 'left', least: ID_CELLS },
    ],
    rows,
    notes: ['waitfall trace takes the start of an id.'],
  };
}

const ID_CELLS = 16;

function whatIfLine({ change, kneePerSecond, next, text }: WhatIf): string {
  if (text !== '') return text.includes(change) ? text : `${change}: ${text}`;
  if (kneePerSecond === null) return `${change}: the next limit is unknown`;
  const then = next ? `, then ${next.resource} at ${rate(next.saturatesAtPerSecond)}` : '';
  return `${change}: ${rate(kneePerSecond.low)} to ${rate(kneePerSecond.high)}${then}`;
}

function signed(ns: number): string {
  return `${ns > 0 ? '+' : ''}${duration(ns)}`;
}
