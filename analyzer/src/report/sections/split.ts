import { type Block, paragraph, type Section, section } from '../document.ts';
import type { Report, SplitGroup, SplitSection } from '../types.ts';
import { duration, percent } from '../units.ts';
import { partName } from './decomposition.ts';
import { groupTable } from './routes.ts';
import { p99Text } from './steps.ts';

/** Values that stand side by side in a table of parts or steps, and parts shown of them. */
const MOST_VALUES = 4;
const MOST_PARTS = 10;

/** The requests by the values of an attribute: each of the tables once more, split. */
export function splitSections({ by, windows }: Report): Section[] {
  if (by === undefined) return [];
  const largest = by.values.slice(0, MOST_VALUES);
  return [
    ...section(`By ${by.attribute}`, [
      groupTable(
        by.attribute,
        by.values.map((value) => ({ name: nameOf(value), group: value })),
      ),
      paragraph(explanation(by)),
    ]),
    ...(largest.length > 1
      ? [
          ...section(`Where the time goes, by ${by.attribute} (mean per request)`, [partsTable(largest)]),
          ...section(`p99 of each step, by ${by.attribute}`, [stepsTable(largest, windows)]),
        ]
      : []),
  ];
}

function explanation({ attribute, explanation: found }: SplitSection): string {
  if (found === null) return `No single value of ${attribute} explains the slow part.`;
  return (
    `${attribute} = ${found.value} explains the slow part: ${percent(found.shareOfSlow)} of the requests slower than ` +
    `${duration(found.slowAboveNs)} carry it, ${percent(found.shareOfAll)} of all; without them p99 is ` +
    `${duration(found.p99WithoutNs)} instead of ${duration(found.p99Ns)}.`
  );
}

/** Parts as rows, values as columns: means of the parts add up to the mean of the value. */
function partsTable(values: readonly SplitGroup[]): Block | null {
  const most = new Map<string, number>();
  for (const { segments } of values) {
    for (const row of segments) most.set(partName(row), Math.max(most.get(partName(row)) ?? 0, row.meanNs));
  }
  if (most.size === 0) return null;
  const parts = [...most].sort(([, a], [, b]) => b - a).map(([name]) => name);
  const shown = parts.slice(0, MOST_PARTS);
  const rest = new Set(parts.slice(MOST_PARTS));
  const mean = ({ segments }: SplitGroup, wanted: (name: string) => boolean) =>
    segments.reduce((sum, row) => (wanted(partName(row)) ? sum + row.meanNs : sum), 0);
  const line = (title: string, wanted: (name: string) => boolean) => [
    title,
    ...values.map((value) => duration(mean(value, wanted))),
  ];
  return {
    type: 'table',
    columns: valueColumns('part', values),
    rows: [
      ...shown.map((name) => line(name, (each) => each === name)),
      ...(rest.size > 0 ? [line(`${rest.size} smaller parts`, (each) => rest.has(each))] : []),
      line('all', () => true),
    ],
  };
}

function stepsTable(values: readonly SplitGroup[], windows: Report['windows']): Block | null {
  if (windows.length < 2) return null;
  const origin = windows[0].startUnixNano;
  return {
    type: 'table',
    columns: valueColumns('at', values),
    rows: windows.map((row, w) => [
      `+${duration(row.startUnixNano - origin)}`,
      ...values.map((value) => p99Text(value.windows[w].latencyNs)),
    ]),
  };
}

/** Values may be long: each column keeps a title of this many characters. */
const TITLE_CHARACTERS = 12;

function valueColumns(first: string, values: readonly SplitGroup[]) {
  const short = (name: string) =>
    [...name].length <= TITLE_CHARACTERS ? name : `${[...name].slice(0, TITLE_CHARACTERS - 1).join('')}…`;
  return [
    { title: first, align: 'left' as const, least: 20 },
    ...values.map((value) => ({ title: short(nameOf(value)), align: 'right' as const })),
  ];
}

function nameOf({ value }: SplitGroup): string {
  return value ?? '(not set)';
}
