import { statSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { COMMAND, type Contender, measureAll, type Run, subject } from './contenders.ts';
import { DUCKDB, installDuckDb } from './duckdb.ts';
import { generate } from './generate.ts';

const USAGE = `npm run bench:read -- [--mb 200] [--runs 3] [--dir DIR] [--no-duckdb]
Speed and memory of the report against JSON.parse alone, protobufjs and DuckDB: one table, medians, ratios in one run.
Give --mb 1000 for the numbers of the README.`;

const { values } = parseArgs({
  allowNegative: true,
  options: {
    mb: { type: 'string', default: '200' },
    runs: { type: 'string', default: '3' },
    dir: { type: 'string', default: join(tmpdir(), 'waitfall-bench-read') },
    duckdb: { type: 'boolean', default: true },
    help: { type: 'boolean', default: false },
  },
});
const megabytes = Number(values.mb);
const runs = Number(values.runs);
if (values.help || !(megabytes > 0) || !(runs >= 1)) {
  console.log(USAGE);
  process.exit(values.help ? 0 : 2);
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
}

function printTable(title: string, path: string, baseline: string, results: Map<string, Run[]>): void {
  const size = statSync(path).size / 1e6;
  console.log(`\n${title}: ${size.toFixed(0)} MB`);
  console.log(`${'what'.padEnd(30)}  wall s   CPU s    MB/s  peak MB  ${baseline} / it: wall     CPU`);
  const base = results.get(baseline) ?? [];
  for (const [name, own] of results) {
    if (own.length === 0) continue;
    const of = (list: readonly Run[], key: keyof Run) => median(list.map((run) => run[key]));
    const ratio = (key: keyof Run) => (base.length === 0 ? '' : (of(base, key) / of(own, key)).toFixed(2));
    const wallMs = of(own, 'wallMs');
    const cells = [
      (wallMs / 1000).toFixed(2),
      (of(own, 'cpuMs') / 1000).toFixed(2),
      ((size / wallMs) * 1000).toFixed(0),
      of(own, 'peakMb').toFixed(0),
      ratio('wallMs'),
      ratio('cpuMs'),
    ];
    const widths = [8, 8, 8, 9, baseline.length + 11, 8];
    console.log(name.padEnd(30) + cells.map((cell, i) => cell.padStart(widths[i])).join(''));
  }
}

/** The command as it is installed, and what it writes. */
function report(path: string, threads: number): Contender {
  const output = join(values.dir, 'report.json');
  const args = [COMMAND, 'report', path, '--threads', String(threads), '--format', 'json', '-o', output];
  return { name: `waitfall report, ${threads} ${threads === 1 ? 'thread' : 'threads'}`, args };
}

/** The same with less memory than all spans take: they go to a file, and are analysed in parts. */
function limited(path: string, memory: string): Contender {
  const { args } = report(path, 1);
  return { name: `waitfall report, --memory ${memory}`, args: [...args, '--memory', memory] };
}

const json = join(values.dir, `spans-${megabytes}.jsonl`);
const proto = join(values.dir, `spans-${megabytes}.pb`);
await generate(json, proto, megabytes);
const duckdb = values.duckdb ? installDuckDb(join(values.dir, 'duckdb')) : null;

const machine = `${cpus()[0].model.trim()}, ${availableParallelism()} threads, ${Math.round(totalmem() / 2 ** 30)} GiB`;
console.log(
  `${machine}; Node ${process.version}; median of ${runs} cold runs; load ${loadavg()[0].toFixed(1)} at the start`,
);

const duck = (what: string, threads: number): Contender[] =>
  duckdb === null
    ? []
    : [
        {
          ...subject('DuckDB', json, what, String(threads), duckdb),
          name: `DuckDB ${what}, ${threads} threads`,
        },
      ];

printTable(
  'OTLP JSON lines',
  json,
  'JSON.parse',
  measureAll(
    [
      subject('JSON.parse', json),
      subject('read, slow path', json),
      subject('read, what a report needs', json),
      subject('the same, 2 threads', json),
      subject('read, everything', json),
      report(json, 1),
      report(json, 2),
      limited(json, '256M'),
      ...duck('count', 2),
      ...duck('self time', 2),
      ...duck('self time', 1),
    ],
    runs,
  ),
);
printTable(
  'OTLP protobuf',
  proto,
  'protobufjs',
  measureAll(
    [
      subject('protobufjs', proto),
      subject('read, what a report needs', proto),
      subject('the same, 2 threads', proto),
      subject('read, everything', proto),
      report(proto, 1),
      report(proto, 2),
    ],
    runs,
  ),
);
if (duckdb === null) {
  console.log(`\nDuckDB is left out: ${values.duckdb ? `npm could not install ${DUCKDB}` : 'not wanted'}.`);
}
