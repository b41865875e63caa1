import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { PLAIN_ENCODINGS, RICH_ENCODINGS } from './encodings.ts';
import { readBytes, seeded } from './reading.ts';

const SPANS: Readonly<Record<string, number>> = { rich: 4, plain: 3 };

const FILES: readonly { readonly name: string; readonly spans: number; readonly content: Buffer }[] = [
  ...[
    'json lines',
    'json pretty',
    'json concatenated',
    'protobuf message',
    'protobuf length-prefixed',
    'protobuf varint-delimited',
    'protobuf zstd by record',
  ].map((name) => ({
    name,
    spans: SPANS.rich,
    content: RICH_ENCODINGS[name],
  })),
  ...['jaeger api', 'zipkin list'].map((name) => ({
    name,
    spans: SPANS.plain,
    content: PLAIN_ENCODINGS[name],
  })),
  { name: 'gzip', spans: SPANS.rich, content: gzipSync(RICH_ENCODINGS['json lines']) },
  { name: 'zstd', spans: SPANS.rich, content: zstdCompressSync(RICH_ENCODINGS['protobuf length-prefixed']) },
];

/** Reads without a crash or a hang; the table is sound whatever the bytes were. */
async function readSoundly(content: Buffer, what: string): Promise<Input> {
  const timer = setTimeout(() => {
    throw new Error(`${what}: still reading after 20 s`);
  }, 20_000);
  const input = await readBytes(content).catch((error) => {
    throw new Error(`${what}: ${(error as Error).stack}`);
  });
  clearTimeout(timer);
  const { table } = input;
  for (let row = 0; row < table.length; row++) {
    assert.ok(table.resource[row] < table.resources.length, what);
    assert.ok(table.scope[row] < table.scopes.length, what);
    assert.ok(table.traceIds[table.trace[row]].length > 0, what);
    assert.ok(table.startNs[row] < 1e9 && table.endNs[row] < 1e9, what);
  }
  assert.equal(input.files.length, 1);
  assert.equal(input.files[0].bytes, content.length, `${what}: every byte is looked at`);
  assert.equal(input.files[0].spans, table.length, what);
  return input;
}

for (const { name, spans, content } of FILES) {
  test(`${name} cut at every byte: what is lost is said`, async () => {
    let before = 0;
    // Every byte of a small file, every third of one that repeats itself.
    for (let length = 0; length < content.length; length += content.length > 4000 ? 3 : 1) {
      const input = await readSoundly(content.subarray(0, length), `${name} cut at ${length}`);
      const { table, rejected, files } = input;
      assert.ok(
        table.length >= before || table.length === spans,
        `${name} cut at ${length} loses what a shorter one had`,
      );
      before = table.length;
      if (table.length === spans) continue;
      const told = rejected.length > 0 || files[0].note !== undefined || endsAtRecord(content, length);
      assert.ok(told, `${name} cut at ${length}: ${table.length} spans and not a word`);
    }
  });

  test(`${name} with bytes changed: read or refused, never a crash`, async () => {
    const random = seeded(content.length);
    for (let round = 0; round < 150; round++) {
      const mutated = Buffer.from(content);
      const changes = 1 + Math.floor(random() * 4);
      for (let i = 0; i < changes; i++)
        mutated[Math.floor(random() * mutated.length)] = Math.floor(random() * 256);
      await readSoundly(mutated, `${name}, round ${round}`);
    }
  });

  test(`${name} with pieces moved, doubled and dropped`, async () => {
    const random = seeded(content.length + 1);
    for (let round = 0; round < 100; round++) {
      const [a, b, c] = [random(), random(), random()]
        .map((r) => Math.floor(r * content.length))
        .sort((x, y) => x - y);
      const parts = [
        content.subarray(0, a),
        content.subarray(a, b),
        content.subarray(b, c),
        content.subarray(c),
      ];
      const order = [
        [0, 2, 1, 3],
        [0, 1, 1, 2, 3],
        [0, 3],
        [2, 3],
        [3, 2, 1, 0],
      ][round % 5];
      await readSoundly(Buffer.concat(order.map((i) => parts[i])), `${name}, round ${round}`);
    }
  });
}

/** A cut between two records cannot be seen: the file is simply shorter. */
function endsAtRecord(content: Buffer, length: number): boolean {
  return [
    RICH_ENCODINGS['json lines'],
    RICH_ENCODINGS['json concatenated'],
    RICH_ENCODINGS['protobuf message'],
  ].some((whole) => whole === content)
    ? boundaries(content).has(length)
    : framed(content).has(length);
}

/** Cuts after which a shorter but whole file is left. */
function boundaries(content: Buffer): Set<number> {
  const cuts = new Set<number>();
  if (content[0] !== 0x7b) {
    cuts.add(topLevelMessage(content));
    return cuts;
  }
  const first = JSON.stringify({
    resourceSpans: [
      JSON.parse(
        content
          .toString()
          .split('\n')[0]
          .split('}{"resourceSpans"')[0]
          .replace(/$/, content.includes('\n') ? '' : '}'),
      ).resourceSpans[0],
    ],
  }).length;
  const bytes = Buffer.byteLength(content.toString().slice(0, first));
  return cuts.add(bytes).add(bytes + 1);
}

function topLevelMessage(content: Buffer): number {
  let length = 0;
  let at = 1;
  for (let shift = 0; ; shift += 7) {
    const byte = content[at++];
    length |= (byte & 127) << shift;
    if (byte < 128) return at + length;
  }
}

function framed(content: Buffer): Set<number> {
  const cuts = new Set<number>();
  if (content === RICH_ENCODINGS['protobuf varint-delimited']) {
    cuts.add(topLevelMessage(Buffer.concat([Buffer.from([0x0a]), content])) - 1);
  } else if (content[0] === 0) cuts.add(4 + content.readUInt32BE(0));
  return cuts;
}
