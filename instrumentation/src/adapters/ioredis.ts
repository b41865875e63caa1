import type { Context } from '@opentelemetry/api';
import { PREFIX_CONNECT } from '../conventions.ts';
import { activeContext } from '../core/active-context.ts';
import { now } from '../core/clock.ts';
import { countTime, emitSegment } from '../core/emit.ts';
import { wrapMethod } from '../core/patch.ts';
import { rootOf } from '../core/root.ts';
import { enterWork, leaveWork } from '../core/work.ts';
import { freeName, resourceOf } from './names.ts';
import { outcomeOf } from './outcome.ts';
import { quietly } from './settle.ts';
import type { AdapterSwitch } from './switch.ts';

interface Deque {
  readonly length: number;
  peekBack?(): { command?: unknown } | undefined;
  peekFront?(): { command?: unknown } | undefined;
}

/** What is used of `ioredis`; a node of its cluster is one too. */
interface Redis {
  readonly options?: { host?: string; port?: number; path?: string; family?: number };
  readonly commandQueue?: Deque;
  readonly offlineQueue?: Deque;
}

interface RedisCommand {
  readonly name: string;
  readonly pipelineIndex?: number;
  resolve(value: unknown): unknown;
  reject(error: unknown): unknown;
}

/** These answer when something happens, not when the server has worked: nothing is learned from them. */
const BLOCKING = /^(b[lrz]\w+|xread|xreadgroup|wait|waitaof|subscribe|psubscribe|ssubscribe|monitor)$/i;

/** One connection: Redis answers its commands one after another. */
class RedisConnection {
  readonly resource: string;
  lastReplyMs = 0;
  /** Running median of the time from sending to the reply, for commands with nothing ahead; ms. */
  aloneMs: number | undefined;

  constructor(redis: Redis) {
    const { host, port, path } = redis.options ?? {};
    this.resource = resourceOf(redis, 'ioredis', path ?? `${host ?? 'localhost'}:${port ?? 6379}`);
  }

  learn(ms: number): void {
    if (this.aloneMs === undefined) this.aloneMs = ms;
    else this.aloneMs += (ms > this.aloneMs ? 0.1 : -0.1) * this.aloneMs;
  }
}

const connections = new WeakMap<Redis, RedisConnection>();
const waits = new WeakMap<RedisCommand, CommandWait>();

/** Patches the `Redis` class. @returns whether anything was patched. */
export function patchIoredis(Redis: { prototype: object }, on: AdapterSwitch): boolean {
  wrapMethod(Redis.prototype, 'setStatus', (inner) => {
    return function setStatus(this: Redis, ...args: unknown[]) {
      if (args[0] === 'end') {
        freeName(this);
        connections.delete(this);
      }
      return inner().apply(this, args);
    };
  });
  return wrapMethod(Redis.prototype, 'sendCommand', (inner) => {
    return function sendCommand(this: Redis, ...args: [RedisCommand, unknown?]) {
      // Of a pipeline the first command waits for all: the others only wait for their own.
      const isFirst = on.adapters && !args[0]?.pipelineIndex;
      const wait = isFirst ? quietly(() => waitOf(this, args[0])) : undefined;
      const ahead = this.commandQueue?.length ?? 0;
      const result = inner().apply(this, args);
      if (wait !== undefined) quietly(() => wait.handedOn(ahead));
      return result;
    };
  });
}

function waitOf(redis: Redis, command: RedisCommand): CommandWait {
  let wait = waits.get(command);
  // Sent again by the same client after it was ready; a cluster may send it to another node.
  if (wait === undefined || wait.redis !== redis || wait.isSettled) {
    wait = new CommandWait(redis, command);
    waits.set(command, wait);
  }
  wait.follow();
  return wait;
}

function connectionOf(redis: Redis): RedisConnection {
  let connection = connections.get(redis);
  if (connection === undefined) connections.set(redis, (connection = new RedisConnection(redis)));
  return connection;
}

/**
 * One command: in the client's offline queue until the connection is ready, then behind the commands that were
 * sent before it.
 */
class CommandWait {
  readonly redis: Redis;
  readonly #command: RedisCommand;
  readonly #caller: Context = activeContext();
  readonly #startMs = now();
  readonly #depth: number;
  #wasOffline = false;
  #sentMs: number | undefined;
  #ahead = 0;
  #followed: unknown;
  isSettled = false;

  constructor(redis: Redis, command: RedisCommand) {
    this.redis = redis;
    this.#command = command;
    this.#depth = redis.offlineQueue?.length ?? 0;
    leaveWork(rootOf(this.#caller), this.#caller, this.#startMs);
  }

  /** Looks at how the command ends. Handlers on its promise would hide an unhandled rejection. */
  follow(): void {
    const command = this.#command;
    if (command.resolve === this.#followed) return;
    const { resolve, reject } = command;
    this.#followed = command.resolve = (value) => {
      quietly(() => this.#settled(undefined));
      return resolve.call(command, value);
    };
    command.reject = (error) => {
      quietly(() => this.#settled(error));
      return reject.call(command, error);
    };
  }

  /** The client has written the command, kept it for later, or refused it. */
  handedOn(ahead: number): void {
    const { commandQueue, offlineQueue } = this.redis;
    if (commandQueue?.peekBack?.()?.command === this.#command) {
      this.#sentMs = now();
      this.#ahead = ahead;
    } else if (offlineQueue?.peekBack?.()?.command === this.#command) {
      this.#wasOffline = true;
    }
  }

  #settled(error: unknown): void {
    const atMs = now();
    const connection = connectionOf(this.redis);
    const { lastReplyMs } = connection;
    const isReply = error === undefined || (error as { name?: unknown } | null)?.name === 'ReplyError';
    if (isReply && this.#sentMs !== undefined) connection.lastReplyMs = atMs;
    if (this.isSettled) return;
    this.isSettled = true;
    enterWork(rootOf(this.#caller), atMs);
    if (this.#sentMs === undefined) {
      if (this.#wasOffline) this.#emitOffline(connection, atMs, error);
      return;
    }
    if (this.#wasOffline) this.#emitOffline(connection, this.#sentMs, undefined);
    if (!isReply) {
      const isBehind = this.redis.commandQueue?.peekFront?.()?.command !== this.#command;
      if (this.#ahead > 0 && isBehind) this.#emitBehind(connection, atMs, atMs, error);
    } else if (this.#ahead === 0) {
      if (!BLOCKING.test(this.#command.name)) connection.learn(atMs - this.#sentMs);
    } else if (lastReplyMs > this.#sentMs) {
      const endMs = Math.max(this.#sentMs, Math.min(lastReplyMs, atMs - (connection.aloneMs ?? 0)));
      this.#emitBehind(connection, endMs, lastReplyMs, undefined);
    }
  }

  #emitOffline(connection: RedisConnection, endMs: number, error: unknown): void {
    const { outcome, errorType } = error === undefined ? ACQUIRED : outcomeOf(error);
    countTime(this.#caller, 'connection_wait', this.#startMs, endMs);
    emitSegment({
      segment: 'connection_wait',
      resource: `${PREFIX_CONNECT}${connection.resource}`,
      parent: this.#caller,
      startMs: this.#startMs,
      endMs,
      outcome,
      errorType,
      queueDepth: this.#depth,
    });
  }

  /** @param latestMs when the command ahead was answered: this one cannot have waited longer. */
  #emitBehind(connection: RedisConnection, endMs: number, latestMs: number, error: unknown): void {
    const startMs = this.#sentMs ?? endMs;
    const { outcome, errorType } = error === undefined ? ACQUIRED : outcomeOf(error);
    countTime(this.#caller, 'pool_wait', startMs, endMs);
    emitSegment({
      segment: 'pool_wait',
      resource: connection.resource,
      parent: this.#caller,
      startMs,
      endMs,
      outcome,
      errorType,
      capacity: 1,
      inUse: 1,
      queueDepth: this.#ahead - 1,
      minMs: endMs - startMs,
      maxMs: latestMs - startMs,
    });
  }
}

const ACQUIRED = { outcome: 'acquired', errorType: undefined } as const;
