import type { InputFile } from '../../model/input.ts';
import { type Block, paragraph, type Section } from '../document.ts';
import type { Report } from '../types.ts';
import { bytes, count, duration, percent } from '../units.ts';
import { cutMiddle, width } from '../width.ts';
import { verdictLine } from './verdict.ts';

/** Files listed in the head; the JSON report has them all. */
const MOST_FILES = 6;

/** What each file was taken for, how much was read, and the answer. */
export function headSection(report: Report): Section[] {
  const { files } = report.input;
  const lines: Block[] = files.slice(0, MOST_FILES).map((file) => paragraph(fileLine(file)));
  if (files.length > MOST_FILES) {
    const rest = files.slice(MOST_FILES);
    const spans = rest.reduce((sum, file) => sum + file.spans, 0);
    lines.push(paragraph(`… and ${plural(rest.length, 'more file')} with ${plural(spans, 'span')}`));
  }
  return [
    {
      title: '',
      blocks: [...lines, paragraph(readLine(report)), { type: 'line', text: verdictLine(report) }],
    },
  ];
}

/** @returns what one file was taken for and what it gave, in one line: a long path is cut in its middle. */
export function fileLine(file: InputFile): string {
  const spans = file.format === LOAD_PLAN && file.spans === 0 ? '' : `, ${plural(file.spans, 'span')}`;
  const refused = file.rejected > 0 ? `, ${count(file.rejected)} rejected` : '';
  const rest = `: ${file.format}${spans}, ${bytes(file.bytes)}${refused}`;
  const name = file.path === '-' ? 'standard input' : file.path;
  return `${cutMiddle(name, Math.max(LEAST_PATH_CELLS, LINE_CELLS - width(rest)))}${rest}`;
}

/** The format a reader gives a load plan: it has no spans by nature. */
const LOAD_PLAN = 'load plan';
const LINE_CELLS = 80;
const LEAST_PATH_CELLS = 24;

function readLine({ input, requests, routes, windows }: Report): string {
  const kept = requests.latencyNs.n;
  const estimated = kept === requests.count ? '' : ` (estimated: ${count(kept)} were kept by sampling)`;
  const traces = `${plural(requests.count, 'request')}${estimated} in ${plural(input.traces, 'trace')}`;
  // One request makes a window of no length worth naming.
  const over = requests.count < 2 || windows.length === 0 ? '' : ` over ${duration(spanOf(windows))}`;
  const paths =
    routes.length > 1 ? `, ${routes.length} routes` : routes.length === 1 ? `, ${routes[0].route}` : '';
  const covered =
    requests.coverage === null
      ? ''
      : `; ${percent(requests.coverage)} of the time is accounted for, ${percent(requests.parallelShare)} had parallel branches`;
  return `${traces}${over}${paths}${covered}`;
}

function spanOf(windows: Report['windows']): bigint {
  const starts = windows.map((w) => w.startUnixNano).sort(ascending);
  const ends = windows.map((w) => w.endUnixNano).sort(ascending);
  return ends[ends.length - 1] - starts[0];
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** @returns `1 span`, `2 spans`. */
export function plural(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
}
