import { attributeById, attributeKey, type SpanTable } from '../model/span-table.ts';
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
  const find = (key: string | null): number => (key === null ? -1 : attributeKey(table, key));
  const peers = PEERS.map(([name, port]) => ({ name: find(name), port: find(port) }));
  const used = peers.filter(({ name }) => name >= 0);
  const databases = DATABASES.map(find);
  const at = (row: number, key: number): string => {
    const value = key < 0 ? undefined : attributeById(table, row, key);
    if (typeof value === 'number' || typeof value === 'bigint') return String(value);
    return typeof value === 'string' ? value : '';
  };
  return (row) => {
    let address = '';
    for (const { name, port } of used) {
      address = at(row, name);
      if (address === '') continue;
      const atPort = at(row, port);
      if (atPort !== '') address = `${bracketed(address)}:${atPort}`;
      break;
    }
    return { address, database: at(row, databases[0]) || at(row, databases[1]) };
  };
}

/** @returns a reader of the destination a PRODUCER or CONSUMER span names; empty when it names none. */
export function destinationReader(table: SpanTable): (row: number) => string {
  const keys = DESTINATIONS.map((key) => attributeKey(table, key)).filter((id) => id >= 0);
  return (row) => {
    for (const key of keys) {
      const value = attributeById(table, row, key);
      if (typeof value === 'string' && value !== '') return value;
    }
    return '';
  };
}

function bracketed(address: string): string {
  return address.includes(':') && !address.startsWith('[') ? `[${address}]` : address;
}
