import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readInputs } from '../../../analyzer/src/read/index.ts';
import { dumpAccount, dumpSpans } from './dump.ts';
import { compressions, PLAIN_ENCODINGS, RICH_ENCODINGS } from './encodings.ts';
import { readBytes } from './reading.ts';

const folder = mkdtempSync(join(tmpdir(), 'waitfall-formats-'));
after(() => rmSync(folder, { recursive: true }));

const RICH_DUMP = `\
000000000000000053995c3f42cd8ad8/0000000000000001 < - pay @ "tick" unspecified unset [1750000000000000000, 1750000000000000000)
0af7651916cd43dd8448eb211c80319c/00f067aa0ba902b7 < - shop{process.pid=7, service.instance.id="shop-1"} http@1.2 "GET /buy/:id" server error(sold out) [1750000000000000001, 1750000000009000001) {big="9007199254740993n", blob={"bytes":"AAEC"}, http.route="/buy/:id", list=["ä",2], map={"inner":"日本"}, negative=-5, off=false, ratio=0.25, retry=true} state ot=th:8
0af7651916cd43dd8448eb211c80319c/00f067aa0ba902b8 < 00f067aa0ba902b7 shop{process.pid=7, service.instance.id="shop-1"} http@1.2 "wait_for lock:stock" internal unset [1750000000000001000, 1750000000004000000) {waitfall.resource.capacity=1, waitfall.segment="lock_wait"} -> 000000000000000053995c3f42cd8ad8/00f067aa0ba902ff{waitfall.link="blocked_by"} * 1750000000000002000 deadlock check{n=1}
0af7651916cd43dd8448eb211c80319c/ffffffffffffffff < 00f067aa0ba902b7 pay @ "charge" client ok [1750000000005000000, 1750000000008000000)
`;

const PLAIN_DUMP = `\
0af7651916cd43dd8448eb211c80319c/00f067aa0ba902b7 < - shop @ "get /buy" server unset [1750000000000001000, 1750000000009001000) {http.route="/buy"}
0af7651916cd43dd8448eb211c80319c/00f067aa0ba902b8 < 00f067aa0ba902b7 shop @ "wait_for pool:pg" internal unset [1750000000000002000, 1750000000004000000) {waitfall.resource.capacity=8, waitfall.segment="pool_wait"} * 1750000000000003000 full
0af7651916cd43dd8448eb211c80319c/ffffffffffffffff < 00f067aa0ba902b7 pay @ "charge" client error [1750000000005000000, 1750000000008000000)
`;

for (const [encodings, dump, what] of [
  [RICH_ENCODINGS, RICH_DUMP, 'every field'],
  [PLAIN_ENCODINGS, PLAIN_DUMP, 'the common fields'],
] as const) {
  for (const [encoding, content] of Object.entries(encodings)) {
    test(`${what} as ${encoding}, however it is compressed, cut and named`, async () => {
      for (const [name, bytes] of compressions(encoding, content)) {
        const input = await readBytes(bytes);
        assert.equal(dumpSpans(input.table), dump, name);
        assert.deepEqual(input.rejected, [], name);
        // The name of a file must not matter: neither none at all, nor the wrong one.
        const path = join(folder, 'unknown');
        const misnamed = join(folder, 'export.xlsx');
        writeFileSync(path, bytes);
        writeFileSync(misnamed, bytes);
        for (const file of [path, misnamed])
          assert.equal(dumpSpans((await readInputs([file])).table), dump, file);
      }
      for (const chunk of [1, 7, 300]) {
        assert.equal(
          dumpSpans((await readBytes(content, chunk)).table),
          dump,
          `${encoding} in chunks of ${chunk}`,
        );
      }
    });
  }
}

test('the report can say what each input was taken for', async () => {
  const formats: string[] = [];
  for (const encodings of [RICH_ENCODINGS, PLAIN_ENCODINGS]) {
    for (const [encoding, content] of Object.entries(encodings)) {
      const [file] = (await readBytes(content)).files;
      formats.push(`${encoding}: ${file.format}`);
    }
  }
  const [file] = (await readBytes([...compressions('', RICH_ENCODINGS['json lines'])][5][1])).files;
  formats.push(`both: ${file.format}`);
  assert.deepEqual(formats, [
    'json lines: OTLP JSON lines',
    'json document: OTLP JSON',
    'json pretty: OTLP JSON',
    'json pretty, tabs and CRLF: OTLP JSON',
    'json array of requests: OTLP JSON',
    'json array, one element a line: OTLP JSON',
    'json concatenated: OTLP JSON lines',
    'json concatenated, pretty: OTLP JSON',
    'json bare ResourceSpans: OTLP JSON lines',
    'json with BOM, CRLF and blank lines: OTLP JSON lines',
    'json text sequence: OTLP JSON lines',
    'json proto names, enum names, base64: OTLP JSON',
    'json times as numbers: OTLP JSON',
    'json times as halves: OTLP JSON',
    'json upper-case ids: OTLP JSON',
    'json ids as base64 of hex text: OTLP JSON',
    'json keys in reverse order: OTLP JSON',
    'json old scope keys: OTLP JSON',
    'tempo batches: Tempo JSON',
    'tempo trace: Tempo JSON',
    'jaeger v3 result: OTLP JSON',
    'protobuf message: OTLP protobuf',
    'protobuf messages end to end: OTLP protobuf',
    'protobuf length-prefixed: OTLP protobuf, length-prefixed',
    'protobuf varint-delimited: OTLP protobuf, varint-delimited',
    'protobuf zstd by record: OTLP protobuf, length-prefixed, zstd by record',
    'json zstd by record: OTLP JSON, length-prefixed, zstd by record',
    'protobuf old library field: OTLP protobuf',
    'json document: OTLP JSON',
    'protobuf message: OTLP protobuf',
    'jaeger api: Jaeger JSON',
    'jaeger api, pretty: Jaeger JSON',
    'jaeger trace: Jaeger JSON',
    'jaeger list of traces: Jaeger JSON',
    'jaeger list of spans, inline process: Jaeger JSON',
    'jaeger spans a line: Jaeger JSON lines',
    'jaeger elasticsearch lines: Jaeger JSON lines',
    'jaeger elasticsearch answer: Jaeger JSON',
    'jaeger gRPC model: Jaeger JSON',
    'jaeger gRPC model, a chunk a line: Jaeger JSON lines',
    'zipkin list: Zipkin JSON',
    'zipkin list of lists: Zipkin JSON',
    'zipkin spans a line: Zipkin JSON lines',
    'both: OTLP JSON lines, zstd, gzip',
  ]);
});

test('several formats at once are one input', async () => {
  const paths = Object.entries(RICH_ENCODINGS)
    .slice(0, 2)
    .map(([name, content]) => {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    });
  const input = await readInputs(paths);
  assert.equal(input.table.length, 8);
  assert.equal(input.table.traceIds.length, 2);
  assert.equal(
    dumpAccount(input).replaceAll(`${folder}/`, ''),
    'json lines: OTLP JSON lines, 4 spans, 0 rejected\njson document: OTLP JSON, 4 spans, 0 rejected\n',
  );
});
