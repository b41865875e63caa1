import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { generate } from './generate.ts';

const USAGE = `npm run bench:read -- [--mb 200] [--runs 3] [--dir DIR]
Reading speed against JSON.parse, protobufjs and (where installed) DuckDB: one table, medians, ratios in one run.`;

const { values } = parseArgs({
  options: {
    mb: { type: 'string', default: '200' },
    runs: { type: 'string', default: '3' },
    dir: { type: 'string', default: join(tmpdir(), 'waitfall-bench-read') },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

interface Run {
  readonly spans: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMb: number;
}

/** A fresh process each time: nothing is warm, as for somebody who runs the command once. */
function measure(subject: string, path: string): Run | null {
  const script = fileURLToPath(new URL('./subject.ts', import.meta.url));
  const args = ['--conditions=waitfall-source', '--max-old-space-size=8192', script, subject, path];
  const child = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (child.status !== 0) {
    console.error(`${subject}: ${child.stderr.trim().split('\n').slice(-3).join(' ')}`);
    return null;
  }
  return JSON.parse(child.stdout.trim().split('\n').at(-1) ?? '');
}

/** Contenders take turns, so that a busy minute of the machine hits all of them. */
function measureAll(subjects: readonly string[], path: string, runs: number): Map<string, Run[]> {
  const results = new Map<string, Run[]>(subjects.map((subject) => [subject, []]));
  for (let round = 0; round < runs; round++) {
    for (const subject of subjects) {
      const run = measure(subject, path);
      if (run !== null) results.get(subject)?.push(run);
    }
  }
  return results;
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
}

function printTable(title: string, path: string, baseline: string, results: Map<string, Run[]>): void {
  const megabytes = statSync(path).size / 1e6;
  console.log(`\n${title}: ${megabytes.toFixed(0)} MB`);
  console.log(
    `${'what'.padEnd(20)}   wall s    CPU s     MB/s    M spans/s   peak MB   ${baseline} / it (CPU)`,
  );
  const base = results.get(baseline) ?? [];
  for (const [subject, runs] of results) {
    if (runs.length === 0) continue;
    const wall = median(runs.map((run) => run.wallMs));
    const cpu = median(runs.map((run) => run.cpuMs));
    const ratio = base.length === 0 ? '' : (median(base.map((run) => run.cpuMs)) / cpu).toFixed(2);
    const cells = [
      (wall / 1000).toFixed(2),
      (cpu / 1000).toFixed(2),
      ((megabytes / wall) * 1000).toFixed(0),
      (runs[0].spans / wall / 1000).toFixed(2),
      median(runs.map((run) => run.peakMb)).toFixed(0),
      ratio,
    ];
    console.log(
      `${subject.padEnd(20)} ${cells.map((cell, i) => cell.padStart([8, 8, 8, 12, 9, 10][i])).join(' ')}`,
    );
  }
}

const megabytes = Number(values.mb);
const runs = Number(values.runs);
if (!(megabytes > 0) || !(runs >= 1)) {
  console.error(USAGE);
  process.exit(2);
}
const json = join(values.dir, `spans-${megabytes}.jsonl`);
const proto = join(values.dir, `spans-${megabytes}.pb`);
await generate(json, proto, megabytes);

const machine = `${cpus()[0].model.trim()}, ${availableParallelism()} threads, ${Math.round(totalmem() / 2 ** 30)} GiB`;
console.log(
  `${machine}; Node ${process.version}; median of ${runs} cold runs; load ${loadavg()[0].toFixed(1)} at the start`,
);

const duck = isInstalled('@duckdb/node-api') ? ['DuckDB count', 'DuckDB self time'] : [];
printTable(
  'OTLP JSON lines',
  json,
  'JSON.parse',
  measureAll(['JSON.parse', 'read', 'read, slow path', 'report', ...duck], json, runs),
);
printTable('OTLP protobuf', proto, 'protobufjs', measureAll(['protobufjs', 'read', 'report'], proto, runs));
if (duck.length === 0) console.log('\nDuckDB is left out: @duckdb/node-api is not installed.');

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}
