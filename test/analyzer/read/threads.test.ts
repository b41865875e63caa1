import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Input } from '../../../analyzer/src/model/input.ts';
import type { SpanTable } from '../../../analyzer/src/model/span-table.ts';
import { type ReadOptions, readInputs } from '../../../analyzer/src/read/index.ts';
import { dumpAccount, dumpMetrics } from './dump.ts';
import { RICH_ENCODINGS } from './encodings.ts';
import { encodeProto, lengthPrefixed } from './proto-oracle.ts';
import { seeded } from './reading.ts';

const directory = mkdtempSync(join(tmpdir(), 'waitfall-threads-'));
after(() => rmSync(directory, { recursive: true, force: true }));

/** Everything in a table, its numbering included: not only what is said of each span. */
function numbered(table: SpanTable): unknown {
  const { strings, attributeShapes, links, events, keptKeys, ...columns } = table;
  const texts = Array.from({ length: strings.size }, (_, id) => strings.text(id));
  return { ...columns, texts, shapes: { ...attributeShapes }, links: [...links], events: [...events] };
}

function everything(input: Input): unknown {
  const { table, metrics, files, ...rest } = input;
  return { table: numbered(table), metrics: dumpMetrics(metrics), account: dumpAccount(input), ...rest };
}

/** Reads files with one thread and with several, however small they are. @returns what one thread has read. */
async function sameWithThreads(
  contents: readonly (string | Buffer)[],
  what: string,
  options: ReadOptions = {},
  counts: readonly number[] = [3],
): Promise<Input> {
  const paths = contents.map((content, i) => {
    const path = join(directory, `${i}.jsonl`);
    writeFileSync(path, content);
    return path;
  });
  const one = await readInputs(paths, { ...options, threads: 1 });
  for (const threads of counts) {
    let last = 0;
    const onProgress: ReadOptions['onProgress'] = ({ bytes }) => {
      last = bytes;
    };
    const several = await readInputs(paths, {
      ...options,
      threads,
      threadsFromBytes: 0,
      shared: true,
      onProgress,
    });
    assert.deepEqual(everything(several), everything(one), `${what}, ${threads} threads`);
    assert.equal(
      last,
      one.files.reduce((sum, file) => sum + file.bytes, 0),
      `${what}: bytes told`,
    );
  }
  return one;
}

/** A request of some spans, with texts, ids and keys of its own beside those all have. */
function request(seed: number): string {
  const random = seeded(seed);
  const hex = (digits: number) =>
    Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
  const spans = Array.from({ length: 1 + Math.floor(random() * 5) }, (_, i) => ({
    traceId: random() < 0.5 ? hex(32) : `${'0'.repeat(30)}${10 + Math.floor(random() * 60)}`,
    spanId: hex(16),
    parentSpanId: random() < 0.3 ? '' : hex(16),
    name: `step ${Math.floor(random() * 20)}`,
    kind: Math.floor(random() * 6),
    startTimeUnixNano: `17500000000${hex(8).replace(/[a-f]/g, '7')}`,
    endTimeUnixNano: `17500000010${hex(8).replace(/[a-f]/g, '7')}`,
    attributes: [
      { key: 'http.route', value: { stringValue: `/x/${Math.floor(random() * 9)}` } },
      { key: `key.${Math.floor(random() * 6)}`, value: { stringValue: hex(8) } },
      { key: 'n', value: { intValue: String(Math.floor(random() * 1e6)) } },
      { key: 'ratio', value: { doubleValue: random() } },
      ...(random() < 0.2
        ? [{ key: 'list', value: { arrayValue: { values: [{ stringValue: hex(4) }] } } }]
        : []),
    ],
    ...(random() < 0.1 ? { links: [{ traceId: hex(32), spanId: hex(16) }] } : {}),
    ...(random() < 0.1 ? { events: [{ timeUnixNano: '1750000000000000002', name: `e${i}` }] } : {}),
    status: random() < 0.2 ? { code: 2, message: `no ${Math.floor(random() * 5)}` } : {},
  }));
  const instance = { key: 'service.instance.id', value: { stringValue: `i-${Math.floor(random() * 4)}` } };
  const scope = { name: `scope ${Math.floor(random() * 3)}`, version: '1' };
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: [instance] }, scopeSpans: [{ scope, spans }] }],
  });
}

const lines = (count: number, first = 1): string[] =>
  Array.from({ length: count }, (_, i) => request(first + i));

test('any number of threads reads the same table', async () => {
  const plain = await sameWithThreads([`${lines(200).join('\n')}\n`], 'plain', {}, [2, 3, 5]);
  assert.ok(plain.table.length > 300, `${plain.table.length} spans`);
  const keep = new Set(['http.route', 'n']);
  await sameWithThreads([`${lines(200).join('\n')}\n`], 'some keys', { keep });
  await sameWithThreads([lines(100).join('\r\n\r\n')], 'CRLF, blank lines, no newline at the end');
  await sameWithThreads([`\ufeff${lines(50).join('\n \n')}`], 'a byte order mark');
  await sameWithThreads([`${lines(60).join('\n')}\n`], 'the slow path', { parser: 'slow' });
});

test('a memory limit leaves them room, or sees to it that there is one only', async () => {
  const content = `${lines(400).join('\n')}\n`;
  await sameWithThreads([content], 'much memory', { memoryBytes: 1e9 });
  await sameWithThreads([content], 'little memory', { memoryBytes: 120e6 });
});

test('what several threads reject has the same lines, in the same order', async () => {
  const noId = request(7).replace(/"spanId":"\w+"/, '"spanId":""');
  const metrics = RICH_ENCODINGS['json lines'].toString();
  const all = lines(120);
  all[5] = noId;
  all[40] = 'a line of a log';
  all[41] = `${request(9).slice(0, 200)}${request(10)}`;
  all[60] = `{"resourceLogs":[]}\n${metrics.trimEnd()}`;
  all[90] = noId;
  all[100] = '{"unknown":1}';
  const input = await sameWithThreads([`${all.join('\n')}\n`], 'rejects');
  assert.ok(input.rejected.length >= 4, JSON.stringify(input.rejected));
  assert.equal(input.invalidIds, 2);
  assert.equal(input.skipped.logs, 1);
});

test('values that do not end with their line are read as one thread reads them', async () => {
  const all = lines(80);
  const pretty = JSON.stringify(JSON.parse(request(500)), null, 1);
  await sameWithThreads(
    [[...all.slice(0, 30), pretty, ...all.slice(30)].join('\n')],
    'a document between lines',
  );
  await sameWithThreads(
    [
      JSON.stringify(
        all.map((line) => JSON.parse(line)),
        null,
        1,
      ),
    ],
    'one document',
  );
  await sameWithThreads([`[${all.join(',\n')}]`], 'a list of lines');
  await sameWithThreads([all.join(' ')], 'one line');
  await sameWithThreads([`{"a":[${all.join('\n')}`, all.join('\n')], 'a list that never ends');
});

test('a line torn between two files is one line', async () => {
  const text = lines(60).join('\n');
  const cut = Math.floor(text.length / 2) + 17;
  await sameWithThreads([text.slice(0, cut), text.slice(cut)], 'torn');
  await sameWithThreads([text.slice(0, cut), `${text}\n`], 'torn for good');
});

/** The same request as a length-prefixed record of protobuf. */
function record(seed: number): Buffer {
  return lengthPrefixed(encodeProto('TracesData', JSON.parse(request(seed))));
}

test('records of protobuf are read alike, and so is what is broken among them', async () => {
  const records = Array.from({ length: 120 }, (_, i) => record(i + 1));
  const { table } = await sameWithThreads([Buffer.concat(records)], 'records', {}, [2, 3]);
  assert.ok(table.length > 200, `${table.length} spans`);
  const broken = Buffer.from(records[3]);
  broken.fill(0xff, broken.length - 9);
  const empty = Buffer.alloc(4);
  const some = [...records.slice(0, 50), broken, empty, ...records.slice(50, 90), broken, records[90]];
  const input = await sameWithThreads([Buffer.concat(some)], 'broken records');
  assert.equal(input.rejected.length, 2);
  await sameWithThreads([Buffer.concat(some).subarray(0, -30)], 'cut in a record');
  await sameWithThreads([Buffer.concat([...some, Buffer.from([0xff, 0, 0, 0, 1])])], 'no length');
  await sameWithThreads([Buffer.concat([...some, Buffer.from([0, 0])])], 'cut in a length');
});

test('seeded: bytes of lines changed, moved and cut', async () => {
  const random = seeded(7_40);
  for (let round = 0; round < 2; round++) {
    const files = Array.from({ length: 40 }, (_, i) => {
      const content = Buffer.from(`${lines(30, round * 10_000 + i * 100).join('\n')}\n`);
      const at = () => Math.floor(random() * content.length);
      for (let changes = Math.floor(random() * 4); changes > 0; changes--) {
        const from = at();
        if (random() < 0.5) content[from] = INTERESTING.charCodeAt(Math.floor(random() * INTERESTING.length));
        else content.copyWithin(at(), from, from + Math.floor(random() * 300));
      }
      return random() < 0.3 ? content.subarray(0, at()) : content;
    });
    await sameWithThreads(files, `round ${round}`);
  }
});

const INTERESTING = '"\\{}[]:,0e-_ \n\n\nt\u0000';
