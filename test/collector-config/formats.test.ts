import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { skipWithoutCollector as skip } from './support/binary.ts';
import { startCollector } from './support/collector.ts';
import { spansAsText, subfolder, testFolder } from './support/spans-of.ts';
import { makeTraffic, send, spanCount } from './support/traffic.ts';

const NATIVE = '--feature-gates=exporter.file.nativeCompression';
const ZSTD = 'exporters::file/traces::compression: zstd';
const PROTO = 'exporters::file/traces::format: proto';
/** Files of 1 MB, the smallest the exporter knows. */
const SMALL_FILES = 'exporters::file/traces::rotation::max_megabytes: 1';
/** `null` takes the rotation of local.yaml away. */
const ONE_FILE = 'exporters::file/traces::rotation: null';

/** Every way the exporter can write, and how such a file begins. */
const FORMATS: readonly {
  readonly name: string;
  readonly overrides: readonly string[];
  readonly args?: readonly string[];
  readonly begins: RegExp;
  readonly rotates?: boolean;
}[] = [
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

const traffic = makeTraffic({
  seed: 3,
  requests: 1500,
  startUnixNano: 1_790_000_000_000_000_001n,
  arrivalsPerSecond: 200,
  instances: 3,
});

test('whatever the file exporter writes is read back, and reads the same', { skip }, async (t) => {
  let expected: string[] | null = null;
  for (const format of FORMATS) {
    await t.test(format.name, async (t) => {
      const out = subfolder(testFolder(t), 'out');
      const collector = await startCollector({
        config: 'local.yaml',
        env: { WAITFALL_DIR: out },
        overrides: format.overrides,
        args: format.args,
      });
      t.after(() => collector.kill());
      assert.equal((await send(collector.otlpHttp, traffic)).accepted, spanCount(traffic));
      await collector.stop();

      const files = readdirSync(out).filter((name) => name.startsWith('traces'));
      assert.ok(format.rotates ? files.length > 1 : files.length === 1, files.join(', '));
      const head = readFileSync(join(out, 'traces.jsonl')).subarray(0, 8).toString('hex');
      assert.match(head, format.begins);
      const input = await readInputs(files.map((name) => join(out, name)));
      assert.deepEqual(input.rejected, []);
      assert.equal(input.table.length, spanCount(traffic));
      expected ??= spansAsText(input);
      assert.deepEqual(spansAsText(input), expected);
    });
  }
});
