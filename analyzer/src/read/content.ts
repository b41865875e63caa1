import { zstdDecompressSync } from 'node:zlib';
import type { Bytes } from './bytes.ts';
import type { Collector, Position } from './collector.ts';
import { readJsonValue, unknownReason } from './json-shapes.ts';
import { JsonValues, SALVAGED, type TornLine } from './json-values.ts';
import { type LargeFile, readLineRanges, readRecordRanges } from './large-file.ts';
import { beginsWithNuls, withoutLeadingNuls } from './leading-nuls.ts';
import { OtlpLineScanner } from './otlp-line-scan.ts';
import { parseJson } from './parse-json.ts';
import {
  MAX_RECORD_BYTES,
  type ProtoFraming,
  protoFraming,
  readLengthPrefixed,
  readProtoRequest,
  readProtoStream,
  readVarintDelimited,
} from './proto-records.ts';
import { ZSTD_MAGIC } from './zstd.ts';

/** What a file's content was found to be. */
export interface ContentResult {
  /** For people: `OTLP JSON lines`. */
  readonly format: string;
  /** An unfinished last line the next file may complete. */
  readonly torn: TornLine | null;
}

interface ContentFormat {
  readonly matches: (head: Buffer) => boolean;
  readonly read: (
    source: Bytes,
    collector: Collector,
    torn: TornLine | null,
    large: LargeFile | null,
  ) => Promise<ContentResult>;
}

/** First match wins, told by the first bytes; {@link readJsonValue} then tells the JSON formats apart. */
const CONTENTS: readonly ContentFormat[] = [
  { matches: startsJson, read: readJson },
  { matches: (head) => framedPayload(head) === 'zstd', read: readZstdRecords },
  { matches: (head) => framedPayload(head) === 'json', read: readJsonRecords },
  { matches: (head) => protoFraming(head) === 'length-prefixed', read: proto('length-prefixed') },
  { matches: (head) => protoFraming(head) === 'message', read: proto('message') },
  { matches: (head) => protoFraming(head) === 'varint-delimited', read: proto('varint-delimited') },
  { matches: isText, read: readJson },
];

/**
 * Reads the content of one file. @returns null when nothing here reads it.
 * @param large the same file, where several threads may read it; the source is not used then.
 */
export async function readContent(
  head: Buffer,
  source: Bytes,
  collector: Collector,
  torn: TornLine | null,
  large: LargeFile | null = null,
): Promise<ContentResult | null> {
  if (beginsWithNuls(head)) {
    const text = withoutLeadingNuls(source, (bytes) =>
      collector.reject(
        { line: 1 },
        `${bytes} zero bytes before the first line: truncated while it was written`,
      ),
    );
    return readJson(text, collector, torn, null);
  }
  const format = CONTENTS.find((candidate) => candidate.matches(head));
  return format === undefined ? null : format.read(source, collector, torn, large);
}

/** True for JSON, white space and byte order marks before it. */
function startsJson(head: Buffer): boolean {
  const first = head.find(
    (byte) => byte !== 0x20 && byte !== 9 && byte !== 10 && byte !== 13 && byte !== 0x1e,
  );
  if (first === undefined) return true;
  return first === 0x7b || first === 0x5b || (first === 0xef && head.indexOf('\ufeff') >= 0);
}

/** No control bytes: log lines around the JSON, or the torn end of a line that began in another file. */
function isText(head: Buffer): boolean {
  return !head.some((byte) => byte < 9 || (byte > 13 && byte < 0x1b));
}

/** What stands behind a plausible 4-byte length: the collector compresses each message alone, JSON ones too. */
function framedPayload(head: Buffer): 'zstd' | 'json' | null {
  if (head.length < 9 || head[0] === 0x7b || head.readUInt32BE(0) > MAX_RECORD_BYTES) return null;
  if (head.readUInt32LE(4) === ZSTD_MAGIC) return 'zstd';
  return head[4] === 0x7b && (head[5] === 0x22 || head[5] === 0x7d) ? 'json' : null;
}

async function readJson(
  source: Bytes,
  collector: Collector,
  torn: TornLine | null,
  large: LargeFile | null,
): Promise<ContentResult> {
  const names = new Set<string>();
  const scanner = new OtlpLineScanner(collector.builder);
  const values = new JsonValues(
    {
      value: (value, at) => {
        let name: string | null = null;
        const error = collector.attempt(() => {
          name = readJsonValue(value, collector, at);
        });
        if (error !== null) collector.reject(at, `record dropped whole: ${(error as Error).message}`);
        if (name !== null) names.add(name);
        return name !== null || error !== null;
      },
      line: (buffer, from, end) => {
        if (!collector.fast || !scanner.scan(buffer, from, end)) return false;
        names.add('OTLP JSON');
        return true;
      },
      broken: (at, reason) => collector.reject(at, reason),
      unfinished: (at, what) => collector.unfinished(at, what),
    },
    torn,
  );
  if (large === null) for await (const chunk of source) values.push(chunk);
  else await readLineRanges(large, values, collector, () => names.add('OTLP JSON'));
  const rest = values.end();
  const left = values.takeTorn();
  if (left !== null) rejectTorn(left, collector);
  const format = jsonFormat(names, values);
  // No other file goes on where a compressed stream was cut.
  if (rest === null || !collector.isCut) return { format, torn: rest };
  rejectTorn(rest, collector);
  return { format, torn: null };
}

/** `OTLP JSON lines`, `OTLP JSON`, `Jaeger JSON + load plan`. */
function jsonFormat(names: Set<string>, values: JsonValues): string {
  if (names.size > 1) names.delete('empty JSON');
  if (names.size === 0) return values.values > 0 ? 'JSON' : 'unknown';
  return [...names].join(' + ') + (values.lines && values.values > 1 ? ' lines' : '');
}

/** A last line no other file completes: its complete records count only where it is the file's whole content. */
export function rejectTorn(torn: TornLine, collector: Collector): void {
  const { salvage, at, file } = torn;
  const read = salvage !== null && collector.behalfOf(file, () => readSalvage(salvage, collector, at));
  const what = `unfinished last line of ${torn.bytes.length} bytes`;
  collector.unfinished(at, read ? `${what} ${SALVAGED}` : what, file);
}

function readSalvage(text: string, collector: Collector, at: Position): boolean {
  let name: string | null = null;
  const error = collector.attempt(() => {
    name = readJsonValue(parseJson(text), collector, at);
  });
  return error === null && name !== null;
}

function proto(framing: ProtoFraming): ContentFormat['read'] {
  return async (source, collector, _torn, large) => {
    const onMessage = (message: Buffer, at: Position) => readProtoRequest(message, collector, at);
    if (framing === 'length-prefixed' && large !== null) await readRecordRanges(large, collector, onMessage);
    else if (framing === 'length-prefixed') await readLengthPrefixed(source, collector, onMessage);
    else if (framing === 'varint-delimited') await readVarintDelimited(source, collector, onMessage);
    else await readProtoStream(source, collector);
    return { format: framing === 'message' ? 'OTLP protobuf' : `OTLP protobuf, ${framing}`, torn: null };
  };
}

/** Before its native compression the collector wrote a length and one zstd frame for each message. */
async function readZstdRecords(source: Bytes, collector: Collector): Promise<ContentResult> {
  let kind = 'protobuf';
  await readLengthPrefixed(source, collector, (frame, at) => {
    const message = zstdDecompressSync(frame, { maxOutputLength: MAX_RECORD_BYTES });
    if (message[0] === 0x7b || message[0] === 0x5b) {
      kind = 'JSON';
      readJsonMessage(message, collector, at);
    } else readProtoRequest(message, collector, at);
  });
  return { format: `OTLP ${kind}, length-prefixed, zstd by record`, torn: null };
}

async function readJsonRecords(source: Bytes, collector: Collector): Promise<ContentResult> {
  await readLengthPrefixed(source, collector, (message, at) => readJsonMessage(message, collector, at));
  return { format: 'OTLP JSON, length-prefixed', torn: null };
}

function readJsonMessage(message: Buffer, collector: Collector, at: Position): void {
  const value = parseJson(message.toString('utf8'));
  if (readJsonValue(value, collector, at) === null) throw new Error(unknownReason(value));
}
