import type { Context } from '@opentelemetry/api';
import { PREFIX_CONNECT } from '../conventions.ts';
import { activeContext } from '../core/active-context.ts';
import { now } from '../core/clock.ts';
import { countTime, emitSegment } from '../core/emit.ts';
import { wrapMethod } from '../core/patch.ts';
import { rootOf } from '../core/root.ts';
import { enterWork, leaveWork } from '../core/work.ts';
import { resourceOf } from './names.ts';
import { outcomeOf } from './outcome.ts';
import { quietly } from './settle.ts';
import type { AdapterSwitch } from './switch.ts';

/** What is used of the `Cluster` class: commands wait here until a node is known, then they go to one. */
interface Cluster {
  readonly offlineQueue?: { readonly length: number; peekBack?(): { command?: unknown } | undefined };
  readonly startupNodes?: readonly { host?: string; port?: number }[];
}

interface RedisCommand {
  readonly pipelineIndex?: number;
  reject(error: unknown): unknown;
}

const waits = new WeakMap<RedisCommand, OfflineWait>();

/** Patches the `Cluster` class; its nodes are `Redis` clients. @returns whether anything was patched. */
export function patchIoredisCluster(Cluster: { prototype: object }, on: AdapterSwitch): boolean {
  return wrapMethod(Cluster.prototype, 'sendCommand', (inner) => {
    return function sendCommand(this: Cluster, ...args: [RedisCommand, ...unknown[]]) {
      const [command] = args;
      const isFirst = on.adapters && typeof command === 'object' && !command?.pipelineIndex;
      // A command that waited is given to the cluster again when it is ready.
      quietly(() => waits.get(command)?.ended(undefined));
      const depth = this.offlineQueue?.length ?? 0;
      const caller = isFirst ? activeContext() : undefined;
      const result = inner().apply(this, args);
      if (caller !== undefined && this.offlineQueue?.peekBack?.()?.command === command)
        quietly(() => waits.set(command, new OfflineWait(this, command, caller, depth)));
      return result;
    };
  });
}

/** One command in the offline queue of a cluster that is not ready. */
class OfflineWait {
  readonly #resource: string;
  readonly #command: RedisCommand;
  readonly #caller: Context;
  readonly #depth: number;
  readonly #startMs = now();

  constructor(cluster: Cluster, command: RedisCommand, caller: Context, depth: number) {
    const [node] = cluster.startupNodes ?? [];
    const known = node && `${node.host ?? 'localhost'}:${node.port ?? 6379}`;
    this.#resource = resourceOf(cluster, 'ioredis-cluster', known);
    this.#command = command;
    this.#caller = caller;
    this.#depth = depth;
    leaveWork(rootOf(caller), caller, this.#startMs);
    const { reject } = command;
    command.reject = (error) => {
      quietly(() => this.ended(error));
      return reject.call(command, error);
    };
  }

  ended(error: unknown): void {
    if (waits.get(this.#command) !== this) return;
    waits.delete(this.#command);
    const endMs = now();
    const { outcome, errorType } =
      error === undefined ? ({ outcome: 'acquired', errorType: undefined } as const) : outcomeOf(error);
    if (error !== undefined) enterWork(rootOf(this.#caller), endMs);
    countTime(this.#caller, 'connection_wait', this.#startMs, endMs);
    emitSegment({
      segment: 'connection_wait',
      resource: `${PREFIX_CONNECT}${this.#resource}`,
      parent: this.#caller,
      startMs: this.#startMs,
      endMs,
      outcome,
      errorType,
      queueDepth: this.#depth,
    });
  }
}
