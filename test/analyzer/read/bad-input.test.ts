import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { dumpAccount } from './dump.ts';
import { encodeProto, lengthPrefixed, varintDelimited } from './proto-oracle.ts';
import { readBytes } from './reading.ts';

/** One OTLP span as a request; its name is all that tells it from the others. */
function request(name: string, more: object = {}): object {
  const span = {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: Buffer.from(name.padStart(8, '.')).toString('hex').slice(-16),
    name,
    kind: 2,
    startTimeUnixNano: '1750000000000000000',
    endTimeUnixNano: '1750000000000000100',
    ...more,
  };
  return { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ spans: [span] }] }] };
}

const line = (name: string, more: object = {}) => JSON.stringify(request(name, more));
const record = (name: string) => encodeProto('TracesData', request(name));

function names(input: Input): string {
  const { table } = input;
  return Array.from(table.name, (id) => table.strings.text(id)).join(' ');
}

interface Case {
  readonly what: string;
  readonly content: string | Buffer;
  /** Names of the spans read, in order. */
  readonly spans: string;
  /** The account of the file, the path `-` left out. */
  readonly account: string;
}

const CASES: readonly Case[] = [
  {
    what: 'an empty file',
    content: '',
    spans: '',
    account: 'unknown, 0 spans, 0 rejected (the file is empty)',
  },
  {
    what: 'an empty gzip member',
    content: gzipSync(''),
    spans: '',
    account: 'unknown, gzip, 0 spans, 0 rejected (the file is empty)',
  },
  {
    what: 'blank lines only',
    content: '\n \r\n\n',
    spans: '',
    account: 'unknown, 0 spans, 0 rejected (the file holds blank lines only)',
  },
  {
    what: 'a log truncated while it was written: zero bytes up to where its writer was',
    content: Buffer.concat([Buffer.alloc(3_000_000), Buffer.from(`${line('a')}\n${line('b')}\n`)]),
    spans: 'a b',
    account:
      'OTLP JSON lines, 2 spans, 1 rejected\n  line 1: 3000000 zero bytes before the first line: truncated while it was written',
  },
  {
    what: 'nothing but zero bytes',
    content: Buffer.alloc(100),
    spans: '',
    account:
      'unknown, 0 spans, 1 rejected (no spans: 100 zero bytes before the first line: truncated while it was written)\n  line 1: 100 zero bytes before the first line: truncated while it was written',
  },
  {
    what: 'a list that is null',
    content: `{"resourceSpans":null}\n${line('a')}\n`,
    spans: 'a',
    account: 'OTLP JSON lines, 1 spans, 0 rejected',
  },
  {
    what: 'an empty object',
    content: '{}',
    spans: '',
    account: 'empty JSON, 0 spans, 0 rejected (no spans in it)',
  },
  {
    what: 'an empty list',
    content: '[]',
    spans: '',
    account: 'empty JSON, 0 spans, 0 rejected (no spans in it)',
  },
  {
    what: 'no spans',
    content: '{"resourceSpans":[{"scopeSpans":[{"spans":[]}]}]}',
    spans: '',
    account: 'OTLP JSON, 0 spans, 0 rejected (no spans in it)',
  },
  {
    what: 'logs and metrics only',
    content: '{"resourceLogs":[]}\n{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m"}]}]}]}',
    spans: '',
    account: 'OTLP JSON lines, 0 spans, 0 rejected (no spans, only 1 metric and 1 log message)',
  },
  {
    what: 'logs only, as protobuf',
    content: encodeProto('LogsData', {
      resourceLogs: [{ scopeLogs: [{ logRecords: [{ timeUnixNano: '5' }] }] }],
    }),
    spans: '',
    account: 'OTLP protobuf, 0 spans, 0 rejected (no spans, only 1 log message)',
  },
  {
    what: 'JSON of another kind',
    content: '{"rows":[{"id":1}],"total":1}',
    spans: '',
    account: `\
unknown, 0 spans, 1 rejected (no spans: unknown format, first keys: rows, total)
  line 1: unknown format, first keys: rows, total`,
  },
  {
    what: 'a picture',
    content: Buffer.from('89504e470d0a1a0a0000000d', 'hex'),
    spans: '',
    account: `\
unknown, 0 spans, 1 rejected (no spans: unknown format: begins with bytes 89504e470d0a1a0a)
  offset 0: unknown format: begins with bytes 89504e470d0a1a0a`,
  },
  {
    what: 'UTF-16 text',
    content: Buffer.from(`\ufeff${line('a')}`, 'utf16le'),
    spans: '',
    account: `\
unknown, 0 spans, 1 rejected (no spans: UTF-16 text, which is not read: convert it to UTF-8)
  offset 0: UTF-16 text, which is not read: convert it to UTF-8`,
  },
  {
    what: 'an xz file',
    content: Buffer.from('fd377a585a000004', 'hex'),
    spans: '',
    account: `\
xz, 0 spans, 1 rejected (no spans: compressed with xz, which is not read: decompress it first, or use gzip or zstd)
  offset 0: compressed with xz, which is not read: decompress it first, or use gzip or zstd`,
  },
  {
    what: 'a truncated last line',
    content: `${line('a')}\n${line('b')}\n${line('c').slice(0, 100)}`,
    spans: 'a b',
    account: `\
OTLP JSON lines, 2 spans, 1 rejected
  line 3: unfinished last line of 100 bytes: file still being written or cut`,
  },
  {
    what: 'a last line cut in a string of a file that holds nothing else',
    content: '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7',
    spans: '',
    account: `\
unknown, 0 spans, 1 rejected (no spans: its only line is unfinished)
  line 1: unfinished last line of 59 bytes: file still being written or cut`,
  },
  {
    what: 'a pretty-printed document cut in its second batch',
    content: JSON.stringify(
      { resourceSpans: [...(request('a') as never as { resourceSpans: [] }).resourceSpans, {}] },
      null,
      2,
    ).replace(/\{\}\s+\]\s+\}$/, '{ "resource": {'),
    spans: 'a',
    account: `\
OTLP JSON, 1 spans, 1 rejected
  line 1: unfinished document of 490 bytes (its complete records are read): file still being written or cut`,
  },
  {
    what: 'a document with a fault in the middle, good lines after it',
    content: `{\n"resourceSpans": [\n${JSON.stringify((request('a') as { resourceSpans: object[] }).resourceSpans[0])},\n{"resource" oops }\n]}\n${line('b')}`,
    spans: 'a b',
    account: `\
OTLP JSON lines, 2 spans, 4 rejected
  line 1: not valid JSON: unexpected "o"
  line 2: not valid JSON: unexpected "o"
  line 4: not valid JSON: unexpected "o"
  line 5: not JSON: starts with "]}"`,
  },
  {
    what: 'lines torn inside a string and outside of one',
    content: `${line('a').slice(0, 75)}\n${line('b')}\n${line('c').slice(0, -4)}\n${line('d')}\n`,
    spans: 'b d',
    account: `\
OTLP JSON lines, 2 spans, 2 rejected
  line 1: not valid JSON: the line ends inside a string
  line 3: not valid JSON: unexpected "{"`,
  },
  {
    what: 'a torn line and a whole one behind it on the same line',
    content: `${line('a')}\n${line('b').slice(0, 60)}${line('c')}\n${line('d')}`,
    spans: 'a c d',
    account: `\
OTLP JSON lines, 3 spans, 1 rejected
  line 2: not valid JSON: unexpected "{" (torn; a whole record follows on the same line)`,
  },
  {
    what: 'log lines between the records',
    content: `Server listening on 3000\n${line('a')}\nGET /x 200\n\n${line('b')}\n`,
    spans: 'a b',
    account: `\
OTLP JSON lines, 2 spans, 2 rejected
  line 1: not JSON: starts with "Server liste"
  line 3: not JSON: starts with "GET /x 200"`,
  },
  {
    what: 'a record of another kind among spans',
    content: `${line('a')}\n{"level":30,"msg":"hi"}\n${line('b')}`,
    spans: 'a b',
    account: `\
OTLP JSON lines, 2 spans, 1 rejected
  line 2: unknown format, first keys: level, msg`,
  },
  {
    what: 'ids that are absent, empty, zero or no text',
    content: [
      line('a', { traceId: undefined }),
      line('b', { spanId: '' }),
      line('c', { spanId: '0000000000000000' }),
      line('d', { traceId: 'AAAAAAAAAAAAAAAAAAAAAA==' }),
      line('e', { spanId: {} }),
      line('f', { spanId: 0 }),
      line('g'),
    ].join('\n'),
    spans: 'g',
    account: `\
OTLP JSON lines, 1 spans, 6 rejected
  line 1: span "a": its trace id is absent
  line 2: span "b": its span id is empty
  line 3: span "c": its span id is zero
  line 4: span "d": its trace id is zero
  line 5: span "e": its span id is no text
  line 6: span "f": its span id is zero`,
  },
  {
    what: 'things where spans should be',
    content: '{"resourceSpans":[7,{"scopeSpans":[null,{"spans":["x",null,3]}]}]}',
    spans: '',
    account: `\
OTLP JSON, 0 spans, 3 rejected (no spans: ResourceSpans that is no object but number)
  line 1: ResourceSpans that is no object but number
  line 1: Span that is no object but string
  line 1: Span that is no object but number`,
  },
  {
    what: 'a torn last record of length-prefixed protobuf',
    content: Buffer.concat([lengthPrefixed(record('a')), lengthPrefixed(record('b')).subarray(0, 30)]),
    spans: 'a',
    account: `\
OTLP protobuf, length-prefixed, 1 spans, 1 rejected
  record 1 offset 63: unfinished record of 30 bytes, not the 59 its length says: file still being written or cut`,
  },
  {
    what: 'a broken record between two good ones',
    content: Buffer.concat([record('a'), breakSpan(record('b')), record('c')].map(lengthPrefixed)),
    spans: 'a c',
    account: `\
OTLP protobuf, length-prefixed, 2 spans, 1 rejected
  record 1 offset 63: record is broken and dropped whole: a field is longer than the message around it`,
  },
  {
    what: 'a broken record between two good ones, varint-delimited',
    content: Buffer.concat([record('a'), breakSpan(record('b')), record('c')].map(varintDelimited)),
    spans: 'a c',
    account: `\
OTLP protobuf, varint-delimited, 2 spans, 1 rejected
  record 1 offset 60: record is broken and dropped whole: a field is longer than the message around it`,
  },
  {
    what: 'messages end to end, the last cut',
    content: Buffer.concat([record('a'), record('b').subarray(0, 40)]),
    spans: 'a',
    account: `\
OTLP protobuf, 1 spans, 1 rejected
  record 1 offset 59: unfinished message of 40 bytes: file still being written or cut`,
  },
  {
    what: 'records without content',
    content: Buffer.concat([Buffer.alloc(8), lengthPrefixed(record('a')), Buffer.alloc(4)]),
    spans: 'a',
    account: 'OTLP protobuf, length-prefixed, 1 spans, 0 rejected',
  },
  {
    what: 'files with a BOM each, joined',
    content: `\ufeff${line('a')}\n\ufeff${line('b')}\n`,
    spans: 'a b',
    account: 'OTLP JSON lines, 2 spans, 0 rejected',
  },
  {
    what: 'a length no record has',
    content: Buffer.concat([lengthPrefixed(record('a')), Buffer.from('ffffffff0a00', 'hex')]),
    spans: 'a',
    account: `\
OTLP protobuf, length-prefixed, 1 spans, 1 rejected
  record 1 offset 63: a record of 4294967295 bytes is no OTLP record: what follows is not read`,
  },
  {
    what: 'gzip cut in its second member',
    content: Buffer.concat([gzipSync(`${line('a')}\n`), gzipSync(`${line('b')}\n`).subarray(0, 40)]),
    spans: 'a',
    account: `\
OTLP JSON, gzip, 1 spans, 1 rejected
  offset ${gzipSync(`${line('a')}\n`).length}: the gzip stream is cut off: file still being written or cut`,
  },
  {
    what: 'gzip cut in the middle of a line: one cut, told once',
    content: gzipSync(`${line('a')}\n${Array.from({ length: 50 }, (_, i) => line(`b${i}`)).join('')}`, {
      level: 0,
    }).subarray(0, 300),
    spans: 'a',
    account: `\
OTLP JSON, gzip, 1 spans, 1 rejected
  offset 0: the gzip stream is cut off: file still being written or cut; in it an unfinished last line of 30 bytes`,
  },
  {
    what: 'control characters in what is quoted',
    content: `${line('\u001b[31m\u202e', { spanId: '' })}\n{"\\u0007bell":1}\n\u009bx`,
    spans: '',
    account: `\
OTLP JSON, 0 spans, 3 rejected (no spans: span "\\u001b[31m\\u202e": its span id is empty)
  line 1: span "\\u001b[31m\\u202e": its span id is empty
  line 2: unknown format, first keys: \\u0007bell
  line 3: not JSON: starts with "\\u009bx"`,
  },
  {
    what: 'something behind the last gzip member',
    content: Buffer.concat([gzipSync(line('a')), Buffer.from('tail')]),
    spans: 'a',
    account: `\
OTLP JSON, gzip, 1 spans, 1 rejected
  offset ${gzipSync(line('a')).length}: the bytes behind the last gzip member are not gzip: skipped`,
  },
  {
    what: 'zstd cut in its second frame',
    content: Buffer.concat([zstdCompressSync(`${line('a')}\n`), zstdCompressSync(line('b')).subarray(0, 40)]),
    spans: 'a',
    account: `\
OTLP JSON, zstd, 1 spans, 1 rejected
  offset ${zstdCompressSync(`${line('a')}\n`).length}: the zstd stream is cut off: file still being written or cut`,
  },
  {
    what: 'a broken zstd frame between two good ones',
    content: Buffer.concat([
      zstdCompressSync(`${line('a')}\n`),
      breakMiddle(zstdCompressSync(`${line('b')}\n`)),
      zstdCompressSync(`${line('c')}\n`),
    ]),
    spans: 'a c',
    account: `\
OTLP JSON lines, zstd, 2 spans, 1 rejected
  offset ${zstdCompressSync(`${line('a')}\n`).length}: a zstd frame is broken (Data corruption detected): the rest of it is lost`,
  },
];

/** The span's first field claims more bytes than there are. */
function breakSpan(message: Buffer): Buffer {
  const broken = Buffer.from(message);
  broken[broken.lastIndexOf(Buffer.from([0x0a, 0x10])) + 1] = 0x7f;
  return broken;
}

function breakMiddle(frame: Buffer): Buffer {
  const broken = Buffer.from(frame);
  broken.fill(0xff, frame.length >> 1, (frame.length >> 1) + 8);
  return broken;
}

for (const { what, content, spans, account } of CASES) {
  test(`${what}: the good part is read, the rest named`, async () => {
    for (const chunk of [1 << 16, 1, 13]) {
      const input = await readBytes(content, chunk);
      assert.equal(names(input), spans);
      assert.equal(dumpAccount(input).replace(/^-: /, '').replaceAll('\n  - ', '\n  ').trimEnd(), account);
    }
  });
}

test('a decompression bomb is stopped, what came before it is read', async () => {
  const bomb = zstdCompressSync(Buffer.alloc(64 << 20, '\n'));
  const content = Buffer.concat([zstdCompressSync(`${line('a')}\n`), bomb]);
  const input = await readBytes(content, 1 << 16, { freeExpansionBytes: 16 << 20 });
  assert.equal(names(input), 'a');
  assert.match(input.rejected[0].reason, /expand more than 500 times: taken for a decompression bomb/);
});

test('a long list of faults is counted in full and listed in part', async () => {
  const input = await readBytes('nonsense\n'.repeat(10_100));
  assert.equal(input.files[0].rejected, 10_100);
  assert.equal(input.rejected.length, 10_001);
  assert.equal(input.rejected.at(-1)?.reason, '100 more rejected things are counted but not listed');
});

test('a value nested without end is refused, not followed', async () => {
  for (const depth of [600, 200_000]) {
    const input = await readBytes(`${'['.repeat(depth)}${']'.repeat(depth)}\n${line('a')}`);
    assert.equal(names(input), 'a', `depth ${depth}`);
    assert.equal(input.rejected.length, 1);
  }
  const attribute = `${'{"arrayValue":{"values":['.repeat(2000)}${']}}'.repeat(2000)}`;
  const deep = line('a', { attributes: [{ key: 'deep', value: 'X' }] }).replace('"X"', attribute);
  assert.equal(names(await readBytes(deep)), 'a');
});
