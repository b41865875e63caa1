/**
 * npm run bench:tui: what a key costs in a real (pseudo) terminal. Reads the built command; prints the time of
 * `node -e 0` beside it, because on a busy machine that says how far the other numbers can be trusted.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { writeLongTrace, writeTraces } from './generate.ts';
import { type KeyCost, Pty } from './pty.ts';

const COMMAND = fileURLToPath(new URL('../../../analyzer/bin/waitfall.js', import.meta.url));
const KEYS_A_KIND = 40;
const IDLE_MS = 2000;
/** Of the one long trace. */
const SPANS = 100_000;
const SIZES: readonly (readonly [columns: number, rows: number])[] = [
  [80, 24],
  [120, 40],
  [200, 60],
];

const traces = Number(process.argv[2] ?? 200_000);
const directory = mkdtempSync(join(tmpdir(), 'waitfall-bench-tui-'));
try {
  const small = join(directory, 'small.jsonl');
  const large = join(directory, 'large.jsonl');
  await writeTraces(small, 300);
  await writeTraces(large, traces);
  console.log(`node ${process.version}, load average ${loadavg()[0].toFixed(1)}`);
  console.log(`node -e 0: ${median(repeat(5, () => timed(['-e', '0']))).toFixed(0)} ms`);
  console.log(`waitfall --help: ${median(repeat(5, () => timed([COMMAND, '--help']))).toFixed(0)} ms`);
  console.log(`first screen of ${300} traces: ${(await firstScreen(small)).toFixed(0)} ms (median of 5)\n`);
  console.log(`${traces.toLocaleString('en-US')} traces   p50 / p95 ms   cpu ms   bytes (a key)`);
  for (const [columns, rows] of SIZES) await measure(large, columns, rows);
  const long = join(directory, 'long.jsonl');
  await writeLongTrace(long, SPANS);
  console.log(`\none trace of ${SPANS.toLocaleString('en-US')} spans`);
  for (const [columns, rows] of SIZES) await measureTrace(long, columns, rows);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function firstScreen(path: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const pty = new Pty(`${process.execPath} ${COMMAND} ${path}`, 80, 24);
    times.push(await pty.until('1 Verdict'));
    await pty.close();
  }
  return median(times);
}

async function measure(path: string, columns: number, rows: number): Promise<void> {
  const pty = new Pty(`${process.execPath} ${COMMAND} ${path}`, columns, rows);
  try {
    const openedMs = await pty.until('1 Verdict', 600_000);
    // The verdict comes last; until then keys are answered beside the analysis.
    const completeMs = await pty.until('Confidence', 600_000);
    await pty.press('5');
    await pty.press('j');
    for (const [name, keys] of [
      ['move', 'j'],
      ['page', ' '],
      ['view', '53'],
    ] as const) {
      if (name === 'page') await pty.press('g');
      await measureKeys(pty, `${columns}x${rows}`, name, keys);
    }
    const idle = pty.cpuMs();
    await sleep(IDLE_MS);
    const idleShare = (pty.cpuMs() - idle) / IDLE_MS;
    console.log(
      `${`${columns}x${rows}`.padEnd(8)} open ${(openedMs / 1000).toFixed(1)} s, verdict ${(completeMs / 1000).toFixed(1)} s, idle ${(idleShare * 100).toFixed(1)} % of a core, ${pty.memoryMb().toFixed(0)} MB`,
    );
  } finally {
    await pty.close();
  }
}

async function measureTrace(path: string, columns: number, rows: number): Promise<void> {
  const pty = new Pty(`${process.execPath} ${COMMAND} ${path}`, columns, rows);
  try {
    await pty.until('Confidence', 600_000);
    await pty.press('5');
    await pty.press('\r');
    await pty.until('share', 600_000);
    await pty.press('j');
    await measureKeys(pty, `${columns}x${rows}`, 'move', 'j');
    await measureKeys(pty, `${columns}x${rows}`, 'page', ' ');
  } finally {
    await pty.close();
  }
}

async function measureKeys(pty: Pty, size: string, name: string, keys: string): Promise<void> {
  const costs: KeyCost[] = [];
  const before = pty.cpuMs();
  for (let n = 0; n < KEYS_A_KIND; n++) costs.push(await pty.press(keys[n % keys.length]));
  const cpu = (pty.cpuMs() - before) / KEYS_A_KIND;
  const latency = costs.map((cost) => cost.latencyMs);
  const bytes = costs.reduce((sum, cost) => sum + cost.bytes, 0) / costs.length;
  console.log(
    `${size.padEnd(8)} ${name.padEnd(6)} ${quantile(latency, 0.5).toFixed(1).padStart(8)} / ${quantile(latency, 0.95).toFixed(1).padStart(6)} ${cpu.toFixed(1).padStart(8)} ${bytes.toFixed(0).padStart(8)}`,
  );
}

function timed(args: readonly string[]): number {
  const from = performance.now();
  spawnSync(process.execPath, args);
  return performance.now() - from;
}

function repeat(times: number, run: () => number): number[] {
  return Array.from({ length: times }, run);
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Nearest rank. */
function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
}
