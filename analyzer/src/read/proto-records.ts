import type { Bytes } from './bytes.ts';
import type { Collector, Position } from './collector.ts';
import { readResourceMetricsProto } from './otlp-metrics-proto.ts';
import { readResourceSpansProto } from './otlp-proto.ts';
import { ProtoError, ProtoFields, WIRE } from './proto-wire.ts';
import { RecordBuffer } from './record-buffer.ts';

/** A record larger than this is given up: no exporter writes one, and it has to fit into memory whole. */
export const MAX_RECORD_BYTES = 256 << 20;

/** Reads one whole request: its ResourceSpans, ResourceMetrics, … stand in field 1. Throws {@link ProtoError}. */
export function readProtoRequest(message: Buffer, collector: Collector, at: Position): void {
  const signals = new Set<Signal>();
  const fields = ProtoFields.of(message);
  while (fields.next()) {
    if (fields.is(1, WIRE.bytes)) signals.add(readResourceItem(fields.bytes(), collector, at));
    else fields.skip();
  }
  countSkipped(signals, collector);
}

function countSkipped(signals: ReadonlySet<Signal>, collector: Collector): void {
  if (signals.has('logs')) collector.skip('logs', 1);
  if (signals.has('profiles')) collector.skip('profiles', 1);
}

type Signal = 'spans' | 'metrics' | 'logs' | 'profiles' | 'empty';

function readResourceItem(item: Buffer, collector: Collector, at: Position): Signal {
  const signal = signalOf(item);
  if (signal === 'spans') readResourceSpansProto(item, collector, at);
  else if (signal === 'metrics') readResourceMetricsProto(item, collector, at);
  else ProtoFields.of(item).skipAll();
  return signal;
}

/** All four signals are wrapped alike (resource 1, scopes 2, records in field 2 of a scope): the record tells. */
function signalOf(item: Buffer): Signal {
  const fields = ProtoFields.of(item);
  while (fields.next()) {
    if (!fields.is(2, WIRE.bytes) && !fields.is(1000, WIRE.bytes)) {
      fields.skip();
      continue;
    }
    const scope = fields.message();
    while (scope.next()) {
      const signal = scope.is(2, WIRE.bytes) ? signalOfRecord(scope.message()) : scope.skip();
      if (signal !== undefined) return signal;
    }
  }
  return 'empty';
}

/**
 * A span has fixed64 times in 7 and 8, a log record in 1 or 11, a profile in 3; a metric has messages in 7 or 10.
 * Where none of these stands, a span is told by its two ids, which a metric's name and description hardly look like.
 */
function signalOfRecord(fields: ProtoFields): Signal {
  let ids = 0;
  while (fields.next()) {
    const { number, wire } = fields;
    if (wire === WIRE.fixed64) {
      if (number === 1 || number === 11) return 'logs';
      if (number === 3) return 'profiles';
      if (number === 7 || number === 8) return 'spans';
    } else if (wire === WIRE.varint) {
      if (number === 2) return 'logs';
      if (number === 6) return 'spans';
    } else if (wire === WIRE.bytes && (number === 7 || number === 10)) return 'metrics';
    if (wire === WIRE.bytes && number <= 2) {
      const bytes = fields.bytes();
      if (bytes.length === (number === 1 ? 16 : 8) && bytes.some((byte) => byte < 0x20 || byte > 0x7e)) ids++;
    } else fields.skip();
  }
  return ids > 0 ? 'spans' : 'metrics';
}

/** How a stream of requests is cut into messages. */
export type ProtoFraming = 'length-prefixed' | 'varint-delimited' | 'message';

/** @returns how these first bytes are framed, or null when they are no OTLP protobuf. */
export function protoFraming(head: Buffer): ProtoFraming | null {
  // Records without content may come first.
  let first = 0;
  while (head.length >= first + 8 && head.readUInt32BE(first) === 0) first += 4;
  if (head.length >= first + 5 && isRequest(head, first + 4, head.readUInt32BE(first)))
    return 'length-prefixed';
  if (isRequest(head, 0, null)) return 'message';
  const length = varintAt(head, 0);
  return length !== null && isRequest(head, length.next, length.value) ? 'varint-delimited' : null;
}

/** True when a request may begin at `at`: field 1, and in it a resource, a scope list or a schema URL that fits. */
function isRequest(head: Buffer, at: number, length: number | null): boolean {
  if (length !== null && (length === 0 || length > MAX_RECORD_BYTES)) return false;
  if (head[at] !== 0x0a) return false;
  const item = varintAt(head, at + 1);
  if (item === null || (length !== null && item.next + item.value > at + length)) return false;
  if (item.value === 0) return length !== null || head.length === item.next || head[item.next] === 0x0a;
  const end = item.next + item.value;
  const first = varintAt(head, item.next);
  if (first === null || ![0x0a, 0x12, 0x1a, (1000 << 3) | 2].includes(first.value)) return false;
  const inner = varintAt(head, first.next);
  return inner !== null && inner.next + inner.value <= end;
}

function varintAt(head: Buffer, at: number): { value: number; next: number } | null {
  let value = 0;
  let factor = 1;
  for (let i = at; i < head.length && i < at + 5; i++) {
    value += (head[i] & 0x7f) * factor;
    if (head[i] < 0x80) return { value, next: i + 1 };
    factor *= 128;
  }
  return null;
}

/** Takes one framed message. Throws when it is broken. */
export type OnMessage = (message: Buffer, at: Position) => void;

/**
 * 4-byte big-endian length before each message, as the collector's file exporter writes.
 * @param from where in the file the source begins.
 * @returns the number of records.
 */
export async function readLengthPrefixed(
  source: Bytes,
  collector: Collector,
  onMessage: OnMessage,
  from: { readonly record: number; readonly offset: number } = { record: 0, offset: 0 },
): Promise<number> {
  const queue = new RecordBuffer(source, from.offset);
  return readFramed(queue, collector, onMessage, from.record, async () => {
    if (!(await queue.need(4))) return null;
    return queue.take(4).readUInt32BE(0);
  });
}

/** A varint length before each message, as protobuf's own delimited streams have it. */
export async function readVarintDelimited(
  source: Bytes,
  collector: Collector,
  onMessage: OnMessage,
): Promise<void> {
  const queue = new RecordBuffer(source);
  await readFramed(queue, collector, onMessage, 0, () => takeVarint(queue));
}

async function readFramed(
  queue: RecordBuffer,
  collector: Collector,
  onMessage: OnMessage,
  first: number,
  takeLength: () => Promise<number | null>,
): Promise<number> {
  let record = first;
  for (; await queue.need(1); record++) {
    const offset = queue.offset;
    const at = { record, offset };
    const length = await takeLength();
    if (length === null) {
      collector.unfinished(at, 'unfinished record, cut in its length');
      return record + 1 - first;
    }
    if (length > MAX_RECORD_BYTES) {
      collector.reject(at, `a record of ${length} bytes is no OTLP record: what follows is not read`);
      return record + 1 - first;
    }
    if (!(await queue.need(length))) {
      const bytes = queue.offset - offset + queue.ready;
      collector.unfinished(at, `unfinished record of ${bytes} bytes, not the ${length} its length says`);
      return record + 1 - first;
    }
    const message = queue.take(length);
    const error = collector.attempt(() => onMessage(message, at));
    if (error !== null)
      collector.reject(at, `record is broken and dropped whole: ${(error as Error).message}`);
  }
  return record - first;
}

/**
 * One request, or several end to end: protobuf merges them, so the ResourceSpans in field 1 follow one another and
 * each is read by itself.
 */
export async function readProtoStream(source: Bytes, collector: Collector): Promise<void> {
  const queue = new RecordBuffer(source);
  const signals = new Set<Signal>();
  for (let record = 0; await queue.need(1); ) {
    const offset = queue.offset;
    const at = { record, offset };
    const tag = await takeVarint(queue);
    if (tag === null) {
      collector.unfinished(at, 'unfinished message');
      break;
    }
    const length = await fieldLength(queue, tag & 7);
    if (length === null || length > MAX_RECORD_BYTES) {
      collector.reject(at, 'not a field of an OTLP request: what follows is not read');
      break;
    }
    if (!(await queue.need(length))) {
      const bytes = queue.offset - offset + queue.ready;
      collector.unfinished(at, `unfinished message of ${bytes} bytes`);
      break;
    }
    const value = queue.take(length);
    if (tag !== 0x0a) continue;
    record++;
    const error = collector.attempt(() => signals.add(readResourceItem(value, collector, at)));
    if (error !== null)
      collector.reject(at, `record is broken and dropped whole: ${(error as Error).message}`);
  }
  countSkipped(signals, collector);
}

async function fieldLength(queue: RecordBuffer, wire: number): Promise<number | null> {
  switch (wire) {
    case WIRE.varint:
      return (await takeVarint(queue)) === null ? null : 0;
    case WIRE.fixed64:
      return 8;
    case WIRE.fixed32:
      return 4;
    case WIRE.bytes:
      return takeVarint(queue);
    default:
      return null;
  }
}

async function takeVarint(queue: RecordBuffer): Promise<number | null> {
  let value = 0;
  let factor = 1;
  for (let i = 0; i < 10 && (await queue.need(1)); i++) {
    const byte = queue.take(1)[0];
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
    factor *= 128;
  }
  return null;
}
