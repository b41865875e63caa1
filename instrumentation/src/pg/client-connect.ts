import type { Context } from '@opentelemetry/api';
import { PREFIX_CONNECT, PREFIX_PG_CLIENT } from '../conventions.ts';
import { activeContext } from '../core/active-context.ts';
import { now } from '../core/clock.ts';
import { countTime, emitSegment } from '../core/emit.ts';
import { wrapMethod } from '../core/patch.ts';
import { isForPool } from '../core/pooled.ts';
import { rootOf } from '../core/root.ts';
import { takeConnectSpan } from '../core/started-span.ts';
import { enterWork, leaveWork } from '../core/work.ts';
import { connectionFailure } from './connection-failure.ts';
import type { PgClient } from './types.ts';

/** Whether connections are recorded; wrappers stay in place when it is switched off and only pass on. */
export interface ConnectSwitch {
  pool: boolean;
}

type ConnectCallback = (error?: Error | null, ...rest: unknown[]) => unknown;

/** Patches `connect` of a `pg.Client` class: connections that belong to no pool are waited for too. */
export function patchConnect(prototype: object, on: ConnectSwitch): void {
  wrapMethod(prototype, 'connect', (inner) => {
    return function connect(this: PgClient, ...args: [ConnectCallback?]) {
      if (!on.pool || isForPool(activeContext())) return inner().apply(this, args);
      const wait = new ConnectWait(this);
      const [callback] = args;
      if (typeof callback === 'function') {
        args[0] = function (this: unknown, ...all: Parameters<ConnectCallback>) {
          wait.ended(all[0]);
          return callback.apply(this, all);
        };
      }
      try {
        const result = inner().apply(this, args) as Promise<unknown> | undefined;
        return typeof callback === 'function' || result === undefined ? result : wait.until(result);
      } finally {
        wait.called();
      }
    };
  });
}

/** One call of `client.connect`, from the call to the first moment the connection can be used. */
class ConnectWait {
  readonly #caller: Context = activeContext();
  readonly #client: PgClient;
  readonly #startMs = now();
  #isOfficial = takeConnectSpan() !== undefined;

  constructor(client: PgClient) {
    this.#client = client;
    leaveWork(rootOf(this.#caller), this.#caller, this.#startMs);
  }

  /** Called when the client's own `connect` has returned: a span that started within it is the official one. */
  called(): void {
    if (takeConnectSpan() !== undefined) this.#isOfficial = true;
  }

  /** The returned promise takes the place of pg's: an unhandled rejection stays exactly one. */
  until(connected: Promise<unknown>): Promise<unknown> {
    return connected.then(
      (value) => {
        this.ended(undefined);
        return value;
      },
      (error: Error) => {
        this.ended(error);
        throw error;
      },
    );
  }

  ended(error: Error | null | undefined): void {
    try {
      const endMs = now();
      enterWork(rootOf(this.#caller), endMs);
      countTime(this.#caller, 'connection_wait', this.#startMs, endMs);
      // The official span is the same interval, and means the same.
      if (this.#isOfficial) return;
      emitSegment({
        segment: 'connection_wait',
        resource: `${PREFIX_CONNECT}${PREFIX_PG_CLIENT}${nameOf(this.#client)}`,
        parent: this.#caller,
        startMs: this.#startMs,
        endMs,
        ...(error ? connectionFailure(error) : { outcome: 'acquired' }),
      });
    } catch {
      // Ours must never reach the service.
    }
  }
}

/** The first that is set of application name and database; user and password are never part of it. */
function nameOf(client: PgClient): string {
  const { application_name: application, database } = client.connectionParameters ?? client;
  return application || database || 'default';
}
