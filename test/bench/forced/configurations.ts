import type { ForcedWork } from '../../../sample-app/src/service/forced.ts';
import type { ServiceConfig } from '../../../sample-app/src/service/variants.ts';
import { type Remote, slowDoor, slowNameServer, slowService } from './remotes.ts';

/** What one configuration puts before or behind the service. */
export interface Surroundings {
  readonly config: Partial<ServiceConfig>;
  /** Replaces the database's `host:port`. */
  readonly databaseAddress?: string;
  readonly remotes?: readonly Remote[];
  /** Environment of the service. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A service with one bottleneck that is known, because it was built. */
export interface Configuration {
  readonly name: string;
  /** What was made narrow, and how much it can do where nothing else is in its way. */
  readonly forced: string;
  /** That number, where the machine does not matter to it: a service that does far less is limited by the machine. */
  readonly limitPerSecond?: number;
  /** Arrivals of the steps, as shares of what the service was measured to do at most; default {@link TO_THE_LIMIT}. */
  readonly shares?: readonly number[];
  /** All sign-ups for one campaign, or spread over fifty. */
  readonly campaign: 'one' | 'any';
  /** Kind and resource that the verdict must name; null: none may be named. */
  readonly expected: { readonly kind: string; readonly resource: RegExp } | null;
  /** Segment that must be at least a third of what keeps the event loop busy: work and pauses. */
  readonly segment?: string;
  surround(database: { host: string; port: number }): Promise<Surroundings>;
}

/** From well below the limit to twice as much, so that a machine that becomes slower or faster meanwhile still shows it. */
export const TO_THE_LIMIT: readonly number[] = [0.3, 0.5, 0.7, 1.3, 2];
/** Far from any limit. */
const BELOW: readonly number[] = [0.06, 0.09, 0.12, 0.15];

/** Nothing is narrow: many connections, many slots, no work worth the name. */
const WIDE: Partial<ServiceConfig> = {
  cacheRules: true,
  rulesKiB: 1,
  auditBytes: 200,
  poolMax: 20,
  slots: 256,
  queue: 256,
};

const forcing = (forced: ForcedWork, config: Partial<ServiceConfig> = {}): Surroundings => ({
  config: { ...WIDE, ...config, forced },
});

const pg = { kind: 'pool', resource: /^pg-pool:signup$/ };
const admission = { kind: 'admission', resource: /^http\.server$/ };
const loop = { kind: 'eventloop', resource: /^eventloop$/ };

/** Every bottleneck that is forced, one at a time. */
export const CONFIGURATIONS: readonly Configuration[] = [
  {
    name: 'none',
    forced: 'nothing',
    shares: BELOW,
    campaign: 'any',
    expected: null,
    surround: async () => ({ config: WIDE }),
  },
  {
    name: 'pool 2',
    forced: '2 connections, held 30 ms: 60/s',
    limitPerSecond: 60,
    campaign: 'any',
    expected: pg,
    surround: async () => forcing({ statementMs: 25 }, { poolMax: 2 }),
  },
  {
    name: 'slots 4 with a queue',
    forced: '4 slots, held 60 ms: 65/s',
    limitPerSecond: 65,
    campaign: 'any',
    expected: admission,
    surround: async () => forcing({ statementMs: 55 }, { slots: 4, queue: 200 }),
  },
  {
    name: 'slots 4 without a queue',
    forced: '4 slots, held 60 ms, nobody may wait: 65/s',
    limitPerSecond: 65,
    campaign: 'any',
    expected: admission,
    surround: async () => forcing({ statementMs: 55 }, { slots: 4, queue: 0 }),
  },
  {
    name: 'CPU burn',
    forced: '15 ms of work a request: 60/s',
    campaign: 'any',
    expected: loop,
    surround: async () => forcing({ burnMs: 15 }),
  },
  {
    name: 'hot row',
    forced: 'one row, locked 20 ms: 45/s',
    limitPerSecond: 45,
    campaign: 'one',
    expected: { kind: 'lock', resource: /^lock:campaign$/ },
    surround: async () => forcing({ lockedMs: 18 }, { poolMax: 40 }),
  },
  {
    name: 'other rows only',
    forced: 'nothing: the same locks, on fifty rows',
    shares: BELOW,
    campaign: 'any',
    expected: null,
    surround: async () => forcing({ lockedMs: 18 }, { poolMax: 40 }),
  },
  {
    name: 'slow downstream',
    forced: 'a service with one worker of 18 ms: 55/s',
    limitPerSecond: 55,
    campaign: 'any',
    expected: { kind: 'downstream', resource: /^127\.0\.0\.1:\d+$/ },
    async surround() {
      const remote = await slowService(18, 1);
      return {
        ...forcing({ call: { url: `http://${remote.address}/price`, via: 'http' } }),
        remotes: [remote],
      };
    },
  },
  {
    name: 'small agent',
    forced: '2 sockets of http.Agent, held 30 ms: 65/s',
    limitPerSecond: 65,
    campaign: 'any',
    expected: { kind: 'pool', resource: /^http-agent:127\.0\.0\.1:\d+$/ },
    async surround() {
      const remote = await slowService(30);
      const call = { url: `http://${remote.address}/price`, via: 'http', sockets: 2 } as const;
      return { ...forcing({ call }), remotes: [remote] };
    },
  },
  {
    name: 'small undici pool',
    forced: '2 connections of undici, held 30 ms: 65/s',
    limitPerSecond: 65,
    campaign: 'any',
    expected: { kind: 'pool', resource: /^undici-pool:127\.0\.0\.1:\d+$/ },
    async surround() {
      const remote = await slowService(30);
      const call = { url: `http://${remote.address}/price`, via: 'undici', sockets: 2 } as const;
      return { ...forcing({ call }), remotes: [remote] };
    },
  },
  {
    name: 'connection churn',
    forced: 'a connection a request, one at a time let in every 50 ms: 20/s',
    limitPerSecond: 20,
    campaign: 'any',
    expected: { kind: 'connection', resource: /^connect:pg-pool:signup$/ },
    async surround({ host, port }) {
      const door = await slowDoor(host, port, 50);
      return {
        ...forcing({ connectionUses: 1 }, { poolMax: 80 }),
        databaseAddress: door.address,
        remotes: [door],
      };
    },
  },
  {
    name: 'GC pressure',
    forced: 'objects that live for 24 requests, moved by the collector',
    campaign: 'any',
    expected: loop,
    segment: 'runtime_pause',
    surround: async () => forcing({ garbageKiB: 5_000 }),
  },
  {
    name: 'thread pool',
    forced: '1 thread, key derivations of about 15 ms',
    campaign: 'any',
    expected: { kind: 'threadpool', resource: /^threadpool$/ },
    surround: async () => ({
      ...forcing({ hashRounds: 12_000 }),
      env: { UV_THREADPOOL_SIZE: '1', WAITFALL_THREAD_POOL: 'true' },
    }),
  },
  {
    name: 'DNS',
    forced: 'a name server that takes 20 ms a question: 45/s',
    limitPerSecond: 45,
    campaign: 'any',
    expected: { kind: 'connection', resource: /^connect:http-agent:price\.test:\d+$/ },
    async surround() {
      const [remote, names] = await Promise.all([slowService(2), slowNameServer(20)]);
      const port = remote.address.split(':')[1];
      const call = { url: `http://price.test:${port}/`, via: 'http', nameServer: names.address } as const;
      return { ...forcing({ call }), remotes: [remote, names] };
    },
  },
];
