import type { EventEmitter } from 'node:events';

/** Outside a transaction, in one, in one that has failed. */
export type TransactionStatus = 'I' | 'T' | 'E' | null;

/** What is used of `pg.Client`; everything that is not public API may be missing. */
export interface PgClient extends EventEmitter {
  host?: string;
  port?: number;
  database?: string;
  application_name?: string;
  connectionParameters?: { host?: string; port?: number; database?: string; application_name?: string };
  getTransactionStatus?(): TransactionStatus;
  _Promise?: PromiseConstructor;
  _queryable?: boolean;
  _ended?: boolean;
  _ending?: boolean;
  pipeline?: boolean;
  query?: unknown;
  release?: unknown;
}

/** What is used of `pg-pool`. */
export interface PgPool extends EventEmitter {
  connect?: unknown;
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
