import { AttributeReader } from '../model/attribute-reader.ts';
import type { AttributeValue } from '../model/attributes.ts';
import { PairIds } from '../model/pair-ids.ts';
import type { SpanTable } from '../model/span-table.ts';
import type { SegmentName } from './types.ts';

/** What a span name from somebody else's instrumentation is known to mean. */
export interface KnownName {
  readonly segment: SegmentName;
  /** @returns the queue's name, from what those spans carry. */
  readonly resource: (peer: Peer) => string;
}

/** What a span says about the other side of a call; empty texts where it says nothing. */
export interface Peer {
  /** host:port, host alone, or the peer service: the first that {@link PEERS} finds. */
  readonly address: string;
  readonly database: string;
}

const pgPool = (peer: Peer): string => `pg-pool:${peer.database || peer.address || 'unknown'}`;
const connect = (peer: Peer): string => `connect:${peer.address || 'unknown'}`;

/**
 * Names of waits that other instrumentations emit; without this table most would pass for a call to a remote server.
 * A `pg-pool.connect` span owns what its `pg.connect` child leaves: exactly the wait for a free slot.
 */
export const KNOWN_NAMES: ReadonlyMap<string, KnownName> = new Map<string, KnownName>([
  ['pg-pool.connect', { segment: 'pool_wait', resource: pgPool }],
  ['pg.pool.acquire', { segment: 'pool_wait', resource: pgPool }],
  [
    'mysql2.pool.acquire',
    { segment: 'pool_wait', resource: (peer) => `mysql2-pool:${peer.database || peer.address || 'unknown'}` },
  ],
  ['prisma:engine:connection', { segment: 'pool_wait', resource: () => 'prisma-pool' }],
  ['pg.connect', { segment: 'connection_wait', resource: connect }],
  ['tcp.connect', { segment: 'connection_wait', resource: connect }],
  ['tls.connect', { segment: 'connection_wait', resource: connect }],
  ['dns.lookup', { segment: 'connection_wait', resource: () => 'dns' }],
  ['http.server.request.time_in_queue', { segment: 'admission_wait', resource: () => 'http.server' }],
]);

/** Where the other side of a call stands, in order of preference: [name, port], old and new conventions. */
const PEERS: readonly (readonly [string, string | null])[] = [
  ['server.address', 'server.port'],
  ['net.peer.name', 'net.peer.port'],
  ['peer.service', null],
  ['service.peer.name', null],
  ['network.peer.address', 'network.peer.port'],
  ['net.peer.ip', 'net.peer.port'],
];

const DATABASES = ['db.namespace', 'db.name'] as const;
const DESTINATIONS = ['messaging.destination.name', 'messaging.destination', 'messaging.system'] as const;

/** Keys of all attributes read here. */
export const PEER_ATTRIBUTES: readonly string[] = [
  ...PEERS.flatMap(([name, port]) => (port === null ? [name] : [name, port])),
  ...DATABASES,
  ...DESTINATIONS,
];

/** @returns a reader of the other side of a call. */
export function peerReader(table: SpanTable): (row: number) => Peer {
  const present = (key: string): AttributeReader | null => {
    const reader = new AttributeReader(table, key);
    return reader.isAbsent ? null : reader;
  };
  const peers = PEERS.flatMap(([nameKey, portKey]) => {
    const name = present(nameKey);
    return name === null ? [] : [{ name, port: portKey === null ? null : present(portKey) }];
  });
  const databases = DATABASES.map(present).filter((reader) => reader !== null);
  const pairs = new PairIds();
  const addresses: string[] = [];
  const addressOf = (name: AttributeReader, port: AttributeReader | null, row: number): string => {
    const text = textOf(name.value(row));
    const number = port?.value(row);
    // A port of 0 stands for none here; ports are far below the limit of a pair.
    const isUsual = number === undefined || (typeof number === 'number' && number > 0 && number < 65_536);
    if (!isUsual || name.textId(row) < 0) return joined(text, textOf(number));
    const id = pairs.of(name.textId(row), number ?? 0);
    return (addresses[id] ??= joined(text, textOf(number)));
  };
  return (row) => {
    let address = '';
    for (const { name, port } of peers) {
      if (!name.has(row)) continue;
      address = addressOf(name, port, row);
      if (address !== '') break;
    }
    let database = '';
    for (const reader of databases) database ||= textOf(reader.value(row));
    return { address, database };
  };
}

function joined(name: string, port: string): string {
  return name === '' || port === '' ? name : `${bracketed(name)}:${port}`;
}

function textOf(value: AttributeValue | undefined): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return typeof value === 'string' ? value : '';
}

/** @returns a reader of the destination a PRODUCER or CONSUMER span names; empty when it names none. */
export function destinationReader(table: SpanTable): (row: number) => string {
  const readers = DESTINATIONS.map((key) => new AttributeReader(table, key)).filter(
    (reader) => !reader.isAbsent,
  );
  return (row) => {
    for (const reader of readers) {
      const text = reader.text(row);
      if (text !== '') return text;
    }
    return '';
  };
}

function bracketed(address: string): string {
  return address.includes(':') && !address.startsWith('[') ? `[${address}]` : address;
}
