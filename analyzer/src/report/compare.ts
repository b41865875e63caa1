import type { Comparison, Pair, SideBySide } from '../infer/compare/types.ts';
import type { Statement } from '../infer/types.ts';
import {
  type Block,
  type Column,
  type Document,
  list,
  paragraph,
  type Section,
  section,
} from './document.ts';
import { duration, number, percent, rate } from './units.ts';

/** What the two runs are called: the paths they were read from. */
export interface RunNames {
  readonly before: string;
  readonly after: string;
}

/** Lays out the evidence record of one change, in the order an experiment is told. */
export function layOutComparison(comparison: Comparison, names: RunNames): Document {
  const { change, prediction } = comparison;
  return {
    sections: [
      {
        title: '',
        blocks: [
          paragraph(`before: ${names.before}`),
          paragraph(`after: ${names.after}`),
          { type: 'line', text: sentenceCase(comparison.conclusion) },
        ],
      },
      ...section('Phenomenon', [statements(comparison.phenomenon)]),
      ...section('Evidence', [statements(comparison.evidence)]),
      ...section('Hypothesis', [statements(comparison.hypothesis)]),
      ...section('Change', [paragraph(change.text)]),
      ...section('At the same load (before → after)', [overview(comparison.sameLoad)]),
      ...section('At the same throughput (before → after)', [overview(comparison.sameThroughput)]),
      ...comparison.sameResource.flatMap((side) => section(side.at, [columns(side.pairs)])),
      ...comparison.overload.flatMap((side) =>
        section(`Overload and recovery: ${side.at}`, [columns(side.pairs)]),
      ),
      ...section('What a request costs', [columns(comparison.unitCosts)]),
      ...section('Side effects', [statements(comparison.sideEffects)]),
      ...section('Prediction', [paragraph(prediction.text)]),
      ...checklistSection(comparison),
    ],
  };
}

function checklistSection({ checklist }: Comparison): Section[] {
  const open = checklist.filter(({ met }) => met !== 'met').length;
  return section(`Checklist of the experiment (${checklist.length - open} of ${checklist.length} met)`, [
    list(checklist.map(({ line, met, detail }) => `${met}: ${line}${detail === '' ? '' : ` (${detail})`}`)),
  ]);
}

function statements(all: readonly Statement[]): Block | null {
  return list(all.map(({ text }) => text));
}

/** Conditions as rows, what was measured as columns, both runs in one cell. */
function overview(sides: readonly SideBySide[]): Block | null {
  if (sides.length === 0) return null;
  const measured = [...new Set(sides.flatMap(({ pairs }) => pairs.map(({ what }) => what)))];
  return {
    type: 'table',
    columns: [
      { title: '', align: 'left', least: 24 },
      ...measured.map(
        (what): Column => ({
          title: what,
          align: 'right',
          ...(spareOf(what) > 0 ? { spare: spareOf(what) } : {}),
        }),
      ),
    ],
    rows: sides.map(({ at, pairs }) => [
      at,
      ...measured.map((what) => {
        const pair = pairs.find((each) => each.what === what);
        return pair === undefined ? '' : `${value(pair, pair.before)} → ${value(pair, pair.after)}`;
      }),
    ]),
  };
}

/** On 80 columns the p99 of all, the failures and the goodput stay. */
const SPARE: Readonly<Record<string, number>> = { 'p99 of successes': 4, backlog: 3, 'p50 of all': 2 };

function spareOf(what: string): number {
  return SPARE[what] ?? 0;
}

/** What was measured as rows, the runs as columns. */
function columns(pairs: readonly Pair[]): Block | null {
  if (pairs.length === 0) return null;
  return {
    type: 'table',
    columns: [
      { title: '', align: 'left' },
      { title: 'before', align: 'right' },
      { title: 'after', align: 'right' },
    ],
    rows: pairs.map((pair) => [pair.what, value(pair, pair.before), value(pair, pair.after)]),
  };
}

function value({ unit }: Pair, of: number | string | null): string {
  if (of === null) return number(null);
  if (typeof of === 'string') return of;
  switch (unit) {
    case 'ns':
      return duration(of);
    case 'perSecond':
      return rate(of);
    case 'share':
      return percent(of);
    default:
      return number(of);
  }
}

function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
