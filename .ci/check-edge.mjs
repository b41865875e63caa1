// Reads every small hard input and every real trace file of the collection beside the repository (../shared) and compares
// the answer with the numbers written down for it by hand. Without the collection: one line, exit 0.
// node --conditions=waitfall-source --import ./scripts/tsx-loader.mjs .ci/check-edge.mjs [--sources] [WORD in a file name …]
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { classify } from '../analyzer/src/classify/classify.ts';
import { startUnixNano } from '../analyzer/src/model/span-table.ts';
import { partition } from '../analyzer/src/partition/partition.ts';
import { piecesOf } from '../analyzer/src/partition/pieces.ts';
import { readInputs } from '../analyzer/src/read/index.ts';
import { DEFAULT_REPAIR, repairTrees } from '../analyzer/src/tree/repair.ts';
import { ENCODINGS, FORMATS, TOGETHER } from './edge/formats.mjs';
import { TREES } from './edge/trees.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const shared = join(root, '..', 'shared');
const words = process.argv.slice(2).filter((word) => word !== '--sources');
/** The command line as built, or with --sources as it stands in the working tree. */
const COMMAND = process.argv.includes('--sources')
  ? [
      '--conditions=waitfall-source',
      '--import',
      './scripts/tsx-loader.mjs',
      join(root, 'analyzer', 'src', 'cli', 'main.ts'),
    ]
  : [join(root, 'analyzer', 'bin', 'waitfall.js')];

if (!existsSync(join(shared, 'edge')) || !existsSync(join(shared, 'cases'))) {
  console.log('edge inputs: ../shared is not there, nothing checked');
  process.exit(0);
}

/** Repairs a file has unless its entry says otherwise. */
const NO_REPAIRS = {
  duplicates: 0,
  conflicts: 0,
  quarantined: 0,
  quarantinedSubtree: 0,
  cycles: 0,
  clamped: 0,
  adopted: 0,
  detached: 0,
  abandoned: 0,
  abandonedNs: 0n,
};

const wanted = (name) => words.length === 0 || words.some((word) => name.includes(word));
const rows = [];
for (const expected of [...FORMATS, ...TREES, ...TOGETHER].filter(({ file }) => wanted(file))) {
  rows.push(await report(expected.file, () => checkEdge(expected)));
}
for (const expected of casesTable().filter(({ file }) => wanted(file))) {
  rows.push(await report(expected.file, () => checkCase(expected)));
}
for (const folder of ['edge', 'cases'].filter(wanted)) {
  rows.push(await report(`${folder}/`, () => checkFolder(folder)));
}
if (wanted('encodings')) rows.push(await report('encodings', checkEncodings));
for (const { name, problems, summary } of rows) {
  console.log(`${problems.length === 0 ? 'ok  ' : 'FAIL'} ${name.padEnd(48)} ${summary}`);
  for (const problem of problems) console.log(`       ${problem}`);
}
const failed = rows.filter(({ problems }) => problems.length > 0).length;
console.log(`${rows.length - failed} of ${rows.length} inputs give the numbers written down for them`);
process.exit(failed === 0 ? 0 : 1);

/** Runs one check; what it throws is a failure of that input alone. */
async function report(name, check) {
  try {
    return { name, ...(await check()) };
  } catch (error) {
    return { name, summary: '', problems: [String(error.stack ?? error)] };
  }
}

async function analyse(paths, options = {}) {
  const input = await readInputs(paths);
  const forest = repairTrees(input.table, { ...DEFAULT_REPAIR, ...options });
  const parts = partition(forest);
  return { input, forest, parts, classes: classify(input.table, forest) };
}

/** Compares one edge file, in process and through the command line. */
async function checkEdge(expected) {
  const problems = [];
  const same = (what, got, want) => {
    if (want !== undefined && text(got) !== text(want))
      problems.push(`${what}: ${text(got)}, not ${text(want)}`);
  };
  const paths = (expected.files ?? [expected.file]).map((file) =>
    join(shared, expected.folder ?? 'edge', file),
  );
  const { input, forest, ...rest } = await analyse(paths, expected.options);
  const { counters } = forest;
  const spans = input.table.length - counters.duplicates - counters.conflicts;
  same('span records', input.table.length, expected.records ?? expected.spans);
  same('spans', spans, expected.spans);
  same('traces', input.table.traceIds.length, expected.traces);
  same('trees', forest.trees.length, expected.treeCount ?? expected.trees?.length);
  for (const [name, want] of Object.entries({ ...NO_REPAIRS, ...expected.counters })) {
    same(name, counters[name], want);
  }
  same('skew', counters.skew, expected.skew ?? []);
  if (expected.rejected !== 'any') same('rejected', input.rejected.length, expected.rejected ?? 0);
  same('metrics', input.metrics.length, expected.metrics ?? 0);
  same('data points', sum(input.metrics.map((metric) => metric.points.length)), expected.dataPoints);
  same('skipped', input.skipped, expected.skipped ?? { logs: 0, profiles: 0 });
  problems.push(...inexact(forest, rest.parts));
  for (const [i, want] of (expected.trees ?? []).entries()) {
    const tree = treeOf({ forest, ...rest }, want);
    if (tree === undefined) problems.push(`tree ${i}: none like ${text(want)}`);
    else for (const [key, value] of Object.entries(want)) same(`tree ${i} ${key}`, tree[key], value);
  }
  expected.more?.({ input, forest, ...rest, same });
  if (expected.options === undefined) problems.push(...checkCommand(paths, spans, input, expected.exit ?? 0));
  return {
    problems,
    summary: `${spans} spans, ${input.table.traceIds.length} traces, ${forest.trees.length} trees`,
  };
}

/** The tree that a wanted one stands for (same trace and root name, where given), in the words of the wanted one. */
function treeOf({ forest, parts, classes }, want) {
  const { table } = forest;
  const nameOf = (row) => table.strings.text(table.name[row]);
  const tree = forest.trees.find(
    ({ root: row, kind }) =>
      (want.trace === undefined || table.traceIds[table.trace[row]] === want.trace) &&
      (want.root === undefined || nameOf(row) === want.root) &&
      (want.kind === undefined || kind === want.kind) &&
      (want.ns === undefined || forest.end[row] === want.ns),
  );
  if (tree === undefined) return undefined;
  const rows = [...forest.order.subarray(tree.first, tree.first + tree.count)];
  const segments = {};
  for (const row of rows) {
    const name = SEGMENTS[classes.segment[row]];
    if (parts.owned[row] > 0) segments[name] = (segments[name] ?? 0) + parts.owned[row];
  }
  return {
    trace: table.traceIds[table.trace[tree.root]],
    root: nameOf(tree.root),
    kind: tree.kind,
    ns: forest.end[tree.root],
    startUnixNano: startUnixNano(table, tree.root),
    missing: tree.missingParent,
    spans: tree.count,
    self: Object.fromEntries(rows.map((row) => [nameOf(row), parts.owned[row]])),
    /** How many spans own how much, root apart. */
    below: tally(rows.slice(1).map((row) => parts.owned[row])),
    rootSelf: parts.owned[tree.root],
    segments,
  };
}

/** Every tree sums to its root's duration, and its pieces cover the root without gap or overlap. */
function inexact(forest, parts) {
  const problems = [];
  for (const tree of forest.trees) {
    const rows = forest.order.subarray(tree.first, tree.first + tree.count);
    const total = rows.reduce((all, row) => all + parts.owned[row], 0);
    let at = 0;
    for (const piece of piecesOf(forest, parts, tree)) {
      if (piece.start !== at || piece.end <= piece.start)
        problems.push(`a piece at ${piece.start}, not at ${at}`);
      at = piece.end;
    }
    if (total !== forest.end[tree.root] || at !== total) {
      problems.push(
        `the parts sum to ${total}, the pieces end at ${at}, the root lasts ${forest.end[tree.root]}`,
      );
    }
  }
  return problems.slice(0, 5);
}

/** The same input through the command line: exit code, counts in the JSON report, nothing odd in the text report. */
function checkCommand(paths, spans, input, exit) {
  const problems = [];
  const json = waitfall(['report', ...paths, '--format', 'json']);
  if (json.status !== exit) problems.push(`exit ${json.status}, not ${exit}: ${json.stderr.slice(0, 200)}`);
  if (spans > 0) {
    const { input: counted } = JSON.parse(json.stdout);
    if (counted.spans !== spans) problems.push(`the JSON report counts ${counted.spans} spans, not ${spans}`);
    const traces = input.table.traceIds.length;
    if (counted.traces !== traces)
      problems.push(`the JSON report counts ${counted.traces} traces, not ${traces}`);
  }
  problems.push(...odd(json), ...odd(waitfall(['report', ...paths, '--format', 'text'])));
  return problems;
}

/** What no output may contain, whatever the input. */
function odd({ stdout, stderr }) {
  const problems = [];
  const output = stdout + stderr;
  const slip = /\bNaN\b|\bInfinity\b|\bundefined\b|\[object Object\]|internal error|\n\s+at .*:\d+:\d+/.exec(
    output,
  );
  if (slip !== null) problems.push(`output has ${JSON.stringify(slip[0])}`);
  const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.exec(output);
  if (control !== null) problems.push(`output has the control character ${JSON.stringify(control[0])}`);
  return problems;
}

/** All files of a folder as one input, in every format. */
function checkFolder(folder) {
  const problems = [];
  const path = join(shared, folder);
  for (const format of ['text', 'markdown', 'json', 'requests']) {
    const run = waitfall(['report', path, '--format', format]);
    if (run.status !== 0) problems.push(`${format}: exit ${run.status}: ${run.stderr.slice(0, 200)}`);
    problems.push(...odd(run).map((problem) => `${format}: ${problem}`));
    if (format === 'text' && run.stdout.length > 100_000) {
      problems.push(`the text report has ${run.stdout.length} characters`);
    }
  }
  return { problems, summary: 'all files as one input' };
}

/** The same spans give the same report in every encoding, byte for byte apart from the input section. */
function checkEncodings() {
  const reports = ENCODINGS.map((file) => {
    const { input: _, ...rest } = JSON.parse(
      waitfall(['report', join(shared, 'edge', file), '--format', 'json']).stdout,
    );
    return JSON.stringify(rest);
  });
  const different = ENCODINGS.filter((_, i) => reports[i] !== reports[0]);
  return {
    problems: different.map((file) => `the report of ${file} differs from that of ${ENCODINGS[0]}`),
    summary: `${ENCODINGS.length} encodings`,
  };
}

function waitfall(args) {
  return spawnSync(process.execPath, [...COMMAND, ...args], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    timeout: 60_000,
    env: { ...process.env, NO_COLOR: '1' },
  });
}

/** Real files: span records and traces as in the table that comes with them, and exact partitions. */
async function checkCase({ file, spans, traces }) {
  const problems = [];
  const path = join(shared, 'cases', file);
  const { input, forest, parts } = await analyse([path]);
  if (input.table.length !== spans) problems.push(`${input.table.length} span records, not ${spans}`);
  if (input.table.traceIds.length !== traces)
    problems.push(`${input.table.traceIds.length} traces, not ${traces}`);
  problems.push(...inexact(forest, parts));
  const run = waitfall(['report', path, '--format', 'json']);
  const exit = forest.trees.length > 0 ? 0 : 1;
  if (run.status !== exit) problems.push(`exit ${run.status}, not ${exit}: ${run.stderr.slice(0, 200)}`);
  return { problems, summary: `${input.table.length} records, ${input.table.traceIds.length} traces` };
}

function casesTable() {
  return readFileSync(join(shared, 'cases', 'README.md'), 'utf8')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => /^\d+$/.test(cells[4] ?? ''))
    .map((cells) => ({ file: cells[1], spans: Number(cells[4]), traces: Number(cells[5]) }));
}

function tally(values) {
  const counts = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

function sum(values) {
  return values.reduce((a, b) => a + b, 0);
}

/** JSON with sorted keys, bigint as text. */
function text(value) {
  return JSON.stringify(value, (_key, v) => {
    if (typeof v === 'bigint') return `${v}`;
    if (v === null || typeof v !== 'object' || Array.isArray(v)) return v;
    return Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
