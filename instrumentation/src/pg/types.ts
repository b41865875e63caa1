import type { EventEmitter } from 'node:events';

/** What is used of `pg.Client`; everything that is not public API may be missing. */
export interface PgClient extends EventEmitter {
  host?: string;
  port?: number;
  database?: string;
  connectionParameters?: { host?: string; port?: number; database?: string };
  getTransactionStatus?(): 'I' | 'T' | 'E' | null;
  _Promise?: PromiseConstructor;
  _queryable?: boolean;
  _ended?: boolean;
  release?: unknown;
}

/** What is used of `pg-pool`. */
export interface PgPool extends EventEmitter {
  options?: {
    max?: number;
    application_name?: string;
    database?: string;
    host?: string;
    port?: number;
    connectionString?: string;
    'waitfall.name'?: string;
  };
  totalCount?: number;
  idleCount?: number;
  ending?: boolean;
  ended?: boolean;
  Promise?: PromiseConstructor;
  _pendingQueue?: object[];
}

export type PoolCallback = (error: Error | undefined, client?: PgClient, release?: unknown) => unknown;
