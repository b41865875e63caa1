import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { skipWithoutCollector as skip } from './support/binary.ts';
import { startCollector } from './support/collector.ts';
import { findingsAsJson, reportOf } from './support/report-of.ts';
import { spansAsText, spansByTrace, subfolder, testFolder } from './support/spans-of.ts';
import { makeTraffic, type Request, send, spanCount } from './support/traffic.ts';

const NATIVE = '--feature-gates=exporter.file.nativeCompression';
const ZSTD = 'exporters::file/traces::compression: zstd';
const PROTO = 'exporters::file/traces::format: proto';
/** Files of 1 MB, the smallest the exporter knows. */
const SMALL_FILES = 'exporters::file/traces::rotation::max_megabytes: 1';
/** `null` takes the rotation of local.yaml away. */
const ONE_FILE = 'exporters::file/traces::rotation: null';

interface Format {
  readonly name: string;
  readonly overrides: readonly string[];
  readonly args?: readonly string[];
  readonly begins: RegExp;
  readonly rotates?: boolean;
}

/** Every way the exporter can write, and how such a file begins. */
const FORMATS: readonly Format[] = [
  { name: 'JSON lines', overrides: [], begins: /^7b22/ },
  { name: 'JSON lines, rotated', overrides: [SMALL_FILES], begins: /^7b22/, rotates: true },
  { name: 'proto', overrides: [PROTO], begins: /^00.{6}0a/ },
  { name: 'proto, rotated', overrides: [PROTO, SMALL_FILES], begins: /^00.{6}0a/, rotates: true },
  { name: 'JSON, zstd per record', overrides: [ZSTD], begins: /^00.{6}28b52ffd/ },
  { name: 'proto, zstd per record', overrides: [ZSTD, PROTO], begins: /^00.{6}28b52ffd/ },
  { name: 'JSON lines, native zstd', overrides: [ZSTD, ONE_FILE], args: [NATIVE], begins: /^28b52ffd/ },
  { name: 'proto, native zstd', overrides: [ZSTD, PROTO, ONE_FILE], args: [NATIVE], begins: /^28b52ffd/ },
  { name: 'JSON lines, native zstd with rotation', overrides: [ZSTD], args: [NATIVE], begins: /^28b52ffd/ },
  { name: 'proto, native zstd with rotation', overrides: [ZSTD, PROTO], args: [NATIVE], begins: /^28b52ffd/ },
];

const trafficOf = (requests: number) =>
  makeTraffic({
    seed: 3,
    requests,
    startUnixNano: 1_790_000_000_000_000_001n,
    arrivalsPerSecond: 200,
    instances: 3,
  });

/** Sends traffic through local.yaml as a format changes it. @returns the files that it wrote. */
async function write(t: TestContext, format: Format, traffic: readonly Request[]): Promise<string[]> {
  const out = subfolder(testFolder(t), 'out');
  const { overrides, args } = format;
  const collector = await startCollector({
    config: 'local.yaml',
    env: { WAITFALL_DIR: out },
    overrides,
    args,
  });
  t.after(() => collector.kill());
  assert.equal((await send(collector.otlpHttp, traffic)).accepted, spanCount(traffic));
  await collector.stop();
  const files = readdirSync(out).filter((name) => name.startsWith('traces'));
  assert.ok(format.rotates ? files.length > 1 : files.length === 1, files.join(', '));
  return files.map((name) => join(out, name));
}

test('whatever the file exporter writes is read back, and reads the same', { skip }, async (t) => {
  const traffic = trafficOf(1500);
  let expected: { spans: string[]; report: string } | null = null;
  for (const format of FORMATS) {
    await t.test(format.name, async (t) => {
      const files = await write(t, format, traffic);
      assert.match(readFileSync(files.at(-1)!).subarray(0, 8).toString('hex'), format.begins);
      const input = await readInputs(files);
      assert.deepEqual(input.rejected, []);
      assert.equal(input.table.length, spanCount(traffic));
      const found = { spans: spansAsText(input), report: findingsAsJson(reportOf(input)) };
      expected ??= found;
      assert.deepEqual(found, expected);
    });
  }
});

/** Compressed, it takes more traffic to fill a file. */
const ROTATED_ZSTD: readonly Format[] = [
  { name: 'zstd per record', overrides: [ZSTD, SMALL_FILES], begins: /^00/, rotates: true },
  { name: 'native zstd', overrides: [ZSTD, SMALL_FILES], args: [NATIVE], begins: /^28b52ffd/, rotates: true },
];

test('a folder of rotated backups reads as one export', { skip }, async (t) => {
  const traffic = trafficOf(8000);
  for (const format of ROTATED_ZSTD) {
    await t.test(format.name, async (t) => {
      const [first] = await write(t, format, traffic);
      const input = await readInputs([dirname(first)]);
      assert.deepEqual(input.rejected, []);
      assert.equal(input.table.length, spanCount(traffic));
      assert.equal(spansByTrace(input).size, traffic.length);
    });
  }
});

test('files apart by a resource attribute read as one export', { skip }, async (t) => {
  const traffic = trafficOf(300);
  const out = subfolder(testFolder(t), 'out');
  const collector = await startCollector({
    config: 'local.yaml',
    env: { WAITFALL_DIR: out },
    overrides: [
      `exporters::file/traces::path: ${out}/traces-*.jsonl`,
      'exporters::file/traces::group_by::enabled: true',
      'exporters::file/traces::group_by::resource_attribute: service.name',
    ],
  });
  t.after(() => collector.kill());
  assert.equal((await send(collector.otlpHttp, traffic)).accepted, spanCount(traffic));
  await collector.stop();
  assert.deepEqual(readdirSync(out).sort(), ['traces-signup.jsonl', 'traces-stock.jsonl']);
  const input = await readInputs([out]);
  assert.deepEqual(input.rejected, []);
  assert.equal(input.table.length, spanCount(traffic));
});
