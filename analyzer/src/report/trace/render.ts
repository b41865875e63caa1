import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { outcomeOf, routeOf } from '../../aggregate/requests.ts';
import type { Analysis } from '../../infer/analysis.ts';
import { startUnixNano } from '../../model/span-table.ts';
import { piecesOf } from '../../partition/pieces.ts';
import type { Piece } from '../../partition/types.ts';
import { STATE, type Tree } from '../../tree/types.ts';
import { type Block, type Document, list, paragraph, type Section, section } from '../document.ts';
import { partName } from '../sections/decomposition.ts';
import { plural } from '../sections/head.ts';
import { renderText, type TextStyle } from '../text.ts';
import { count, duration, percent, timeOfDay } from '../units.ts';
import { detachedRows, holdSpanLines, type WaterfallRow, waterfallRows } from './rows.ts';
import { LETTERS, strip } from './strip.ts';

/** Lines of a waterfall; the spans with the most own time are kept, in their places. */
const MOST_ROWS = 120;
/** Pieces listed, the longest ones. */
const MOST_PIECES = 24;
const BAR_CELLS = 20;
const MOST_DEPTH = 12;

/** @returns every tree of a trace (index into the table's trace ids) as waterfall, partition strip and pieces. */
export function renderTrace(analysis: Analysis, trace: number, style: TextStyle): string {
  const { forest } = analysis;
  const { table } = forest;
  const trees = forest.trees
    .map((tree, index) => ({ tree, index }))
    .filter(({ tree }) => table.trace[tree.root] === trace)
    .sort((a, b) => (startUnixNano(table, a.tree.root) < startUnixNano(table, b.tree.root) ? -1 : 1));
  const document: Document = {
    sections: [
      { title: '', blocks: [paragraph(`Trace ${table.traceIds[trace]}: ${treesText(trees.length)}`)] },
      ...trees.flatMap(({ tree, index }) => treeSections(analysis, tree, index, style)),
      ...outsideSection(analysis, trace),
    ],
  };
  return renderText(document, style);
}

function treesText(n: number): string {
  return n === 0 ? 'no tree could be built of its spans' : n === 1 ? '1 tree' : `${count(n)} trees`;
}

function treeSections(analysis: Analysis, tree: Tree, index: number, style: TextStyle): Section[] {
  const { forest, partition, classes } = analysis;
  const rows = waterfallRows(analysis, tree);
  const root = rows[0];
  const length = root.endNs - root.startNs;
  const pieces = piecesOf(forest, partition, tree);
  const segmentOf = (row: number) => classes.segment[row];
  const cells = Math.min(76, style.columns - 4);
  return [
    {
      title: `${routeOf(forest, tree)}: ${duration(length)}, ${outcomeOf(forest, classes, tree)}`,
      blocks: [paragraph(originText(analysis, tree)), waterfall(rows, length)],
    },
    ...section('', [
      length === 0 ? null : { type: 'line', text: `  ${strip(pieces, segmentOf, length, cells)}` },
      length === 0 ? null : paragraph(`${legend(pieces, segmentOf)}`),
    ]),
    ...section('Who owned each moment', [pieceTable(analysis, pieces, length)]),
    ...section('Holds and blockers', [
      list([
        ...rows.flatMap((row) => row.notes.map((note) => `${row.name}: ${note}`)),
        ...holdSpanLines(analysis, index),
      ]),
    ]),
    ...section('Detached: ended after everything that could have waited', [
      list(
        detachedRows(analysis, index).map(
          (row) =>
            `${row.name} (${row.service}): ${duration(row.endNs - row.startNs)}, began at +${duration(row.startNs)}`,
        ),
      ),
    ]),
  ];
}

function originText({ forest }: Analysis, tree: Tree): string {
  const { table } = forest;
  const start = startUnixNano(table, tree.root);
  const kind =
    tree.kind === 'true'
      ? ''
      : tree.kind === 'orphan'
        ? `, its parent ${tree.missingParent} is not in the input`
        : ', cut out of a cycle of parents';
  return `${table.resources[table.resource[tree.root]].service}, ${count(tree.count)} span${tree.count === 1 ? '' : 's'}, began at ${timeOfDay(start)} UTC (${start})${kind}`;
}

function waterfall(rows: readonly WaterfallRow[], length: number): Block {
  const kept = keepLongest(rows);
  const several = new Set(rows.map((row) => row.service)).size > 1;
  return {
    type: 'table',
    columns: [
      { title: 'span', align: 'left', least: 24 },
      { title: 'service', align: 'left', spare: 3 },
      { title: '', align: 'left', spare: 2 },
      { title: 'from', align: 'right', spare: 1 },
      { title: 'took', align: 'right' },
      { title: 'own', align: 'right' },
      { title: 'segment', align: 'left', spare: 4 },
    ],
    rows: kept.map((row) => [
      `${indent(row.depth)}${row.failed ? '! ' : ''}${row.name}`,
      several ? row.service : '',
      barOf(row, length),
      `+${duration(Math.max(0, row.startNs))}`,
      duration(row.endNs - row.startNs),
      row.ownedNs === 0 ? '0' : duration(row.ownedNs),
      row.ownedNs === 0 ? '' : row.segment,
    ]),
    ...(kept.length < rows.length
      ? { notes: [`${count(rows.length - kept.length)} lines with less own time are left out.`] }
      : {}),
  };
}

/** Keeps the lines with the most own time and the root; a waterfall of 100,000 lines helps nobody. */
function keepLongest(rows: readonly WaterfallRow[]): readonly WaterfallRow[] {
  if (rows.length <= MOST_ROWS) return rows;
  const order = rows.map((_, i) => i).sort((a, b) => rows[b].ownedNs - rows[a].ownedNs || a - b);
  const kept = new Set([0, ...order.filter((i) => i > 0).slice(0, MOST_ROWS - 1)]);
  return rows.filter((_, i) => kept.has(i));
}

function indent(depth: number): string {
  return depth <= MOST_DEPTH ? ' '.repeat(depth) : `${' '.repeat(MOST_DEPTH)}${depth}› `;
}

/** The span's interval inside the root's, at least one cell. */
function barOf({ startNs, endNs }: WaterfallRow, length: number): string {
  if (length === 0) return '';
  const cell = (ns: number) => (Math.min(Math.max(ns, 0), length) / length) * BAR_CELLS;
  const from = Math.min(BAR_CELLS - 1, Math.floor(cell(startNs)));
  const to = Math.max(from + 1, Math.round(cell(endNs)));
  return `${'·'.repeat(from)}${'█'.repeat(to - from)}${'·'.repeat(BAR_CELLS - to)}`;
}

function legend(pieces: readonly Piece[], segmentOf: (row: number) => number): string {
  const present = new Set(pieces.map((piece) => segmentOf(piece.row)));
  return SEGMENTS.map((segment, i) => (present.has(i) ? `${LETTERS[i]}=${segment}` : ''))
    .filter((text) => text !== '')
    .join(' ');
}

function pieceTable({ forest, classes }: Analysis, pieces: readonly Piece[], length: number): Block | null {
  if (pieces.length === 0) return null;
  const { table } = forest;
  const longest = pieces
    .map((_, i) => i)
    .sort((a, b) => pieces[b].end - pieces[b].start - (pieces[a].end - pieces[a].start) || a - b);
  const kept = new Set(longest.slice(0, MOST_PIECES));
  const rest = pieces.filter((_, i) => !kept.has(i)).reduce((sum, piece) => sum + piece.end - piece.start, 0);
  return {
    type: 'table',
    columns: [
      { title: 'from', align: 'right' },
      { title: 'for', align: 'right' },
      { title: 'share', align: 'right' },
      { title: 'part', align: 'left' },
      { title: 'span', align: 'left', spare: 1, least: 16 },
    ],
    rows: pieces
      .filter((_, i) => kept.has(i))
      .map(({ row, start, end }) => [
        `+${duration(start)}`,
        duration(end - start),
        percent((end - start) / length),
        partName({
          segment: SEGMENTS[classes.segment[row]],
          resource: classes.resource[row] < 0 ? null : classes.resources[classes.resource[row]],
        }),
        table.strings.text(table.name[row]),
      ]),
    ...(rest > 0
      ? { notes: [`${count(pieces.length - kept.size)} shorter stretches own the other ${duration(rest)}.`] }
      : {}),
  };
}

/** Spans of the trace that stand in no tree. */
function outsideSection({ forest }: Analysis, trace: number): Section[] {
  const { table, state } = forest;
  let quarantined = 0;
  for (let row = 0; row < table.length; row++) {
    if (table.trace[row] === trace && state[row] === STATE.quarantined) quarantined++;
  }
  return section('Left out', [
    list(quarantined === 0 ? [] : [`${plural(quarantined, 'span')} with broken times, or below one`]),
  ]);
}
