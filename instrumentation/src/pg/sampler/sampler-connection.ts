import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { now } from '../../core/clock.ts';
import { suppressTracing } from '../../core/suppress.ts';
import { warnOnce } from '../../core/warn.ts';
import type { PgClient } from '../types.ts';
import { type ActivityRow, CHECK_QUERY, LEAD_QUERY, LOCK_QUERY } from './lock-query.ts';

interface Result<R> {
  readonly rows: R[];
}

/** What is used of a client of our own. */
interface OwnClient {
  readonly processID?: number | null;
  connect(): Promise<unknown>;
  query<R>(query: string | { name?: string; text: string; values?: unknown[] }): Promise<Result<R>>;
  end(): Promise<unknown>;
  on(event: string, listener: (error: Error) => void): unknown;
  unref?(): void;
}

interface Credentials {
  readonly host?: string;
  readonly port?: number;
  readonly user?: string;
  readonly database?: string;
  readonly options?: string;
  readonly sslnegotiation?: string;
}

const MIN_VERSION = 140_000;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;
const LEAD_RETRY_MS = 2_000;
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * The sampler's own connection, with the application's class, address and role. It keeps no process alive, its
 * statements are in no trace, and a server that cannot be reached is asked again ever less often.
 */
export class SamplerConnection {
  readonly #application: PgClient;
  readonly #url: string | undefined;
  readonly #wantsLead: boolean;
  #client: OwnClient | undefined;
  #opening: Promise<boolean> | undefined;
  #retryMs = FIRST_RETRY_MS;
  #notBeforeMs = 0;
  #leadCheckMs = 0;
  leads = false;
  isOff = false;

  constructor(application: PgClient, url: string | undefined, wantsLead: boolean) {
    this.#application = application;
    this.#url = url;
    this.#wantsLead = wantsLead;
  }

  /** Opens the connection where it is not. @returns whether it may be asked now. */
  async ready(): Promise<boolean> {
    if (this.isOff) return false;
    if (this.#client === undefined) {
      if (now() < this.#notBeforeMs) return false;
      this.#opening ??= this.#open().finally(() => {
        this.#opening = undefined;
      });
      if (!(await this.#opening)) return false;
    }
    return !this.#wantsLead || this.#takeLead();
  }

  /** @param texts also the texts of those that wait. */
  async poll(pids: number[], texts: boolean): Promise<ActivityRow[]> {
    const { rows } = await this.#query<ActivityRow>({
      name: 'waitfall_locks',
      text: LOCK_QUERY,
      values: [pids, texts],
    });
    return rows;
  }

  /** Says why once, and asks the server never again. */
  turnOff(reason: string): void {
    this.isOff = true;
    warnOnce('sampler-off', reason);
    this.close();
  }

  close(): void {
    const client = this.#client;
    this.#client = undefined;
    this.leads = false;
    client?.end().catch(() => {});
  }

  async #open(): Promise<boolean> {
    try {
      const client = this.#newClient();
      client.on('error', () => this.#lost(client));
      client.on('end', () => this.#lost(client));
      client.unref?.();
      await quietly(() => client.connect());
      client.unref?.();
      this.#client = client;
      await this.#check(client);
      if (this.isOff) return false;
      await this.#query("SET statement_timeout = '5s'; SET application_name = 'waitfall-lock-sampler'");
      this.#retryMs = FIRST_RETRY_MS;
      return true;
    } catch (error) {
      this.close();
      this.#notBeforeMs = now() + this.#retryMs;
      this.#retryMs = Math.min(MAX_RETRY_MS, 2 * this.#retryMs);
      warnOnce(
        'sampler-connect',
        `the lock sampler cannot ask the database, it will try again: ${String(error)}`,
      );
      return false;
    }
  }

  /** The process id of the greeting must be the one that answers: behind a pooler they differ. */
  async #check(client: OwnClient): Promise<void> {
    const { rows } = await this.#query<{ pid: number; version: number }>(CHECK_QUERY);
    const [{ pid, version }] = rows;
    if (version < MIN_VERSION) {
      this.turnOff('the lock sampler needs PostgreSQL 14 or newer and is off');
    } else if (client.processID !== pid) {
      this.turnOff(
        'the database is reached through a pooler like pgbouncer, which hides the process ids of statements: ' +
          'the lock sampler is off',
      );
    }
  }

  async #takeLead(): Promise<boolean> {
    if (this.leads) return true;
    if (now() - this.#leadCheckMs < LEAD_RETRY_MS) return false;
    this.#leadCheckMs = now();
    try {
      const { rows } = await this.#query<{ leads: boolean }>(LEAD_QUERY);
      this.leads = rows[0]?.leads === true;
    } catch {
      this.leads = false;
    }
    return this.leads;
  }

  #lost(client: OwnClient): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.leads = false;
    this.#notBeforeMs = now() + FIRST_RETRY_MS;
  }

  async #query<R>(query: Parameters<OwnClient['query']>[0]): Promise<Result<R>> {
    const client = this.#client;
    if (client === undefined) throw new Error('not connected');
    return quietly(() => client.query<R>(query));
  }

  #newClient(): OwnClient {
    const {
      constructor: Client,
      connectionParameters = {},
      // Not enumerable, so that no log shows it.
      password,
      ssl,
    } = this.#application as unknown as {
      constructor: new (config: object) => OwnClient;
      connectionParameters?: Credentials;
      password?: unknown;
      ssl?: unknown;
    };
    const connectionTimeoutMillis = CONNECT_TIMEOUT_MS;
    if (this.#url !== undefined) return new Client({ connectionString: this.#url, connectionTimeoutMillis });
    const { host, port, user, database, options, sslnegotiation } = connectionParameters;
    return new Client({
      host,
      port,
      user,
      database,
      options,
      password,
      ssl,
      sslnegotiation,
      connectionTimeoutMillis,
    });
  }
}

/** Outside every trace. */
function quietly<T>(run: () => T): T {
  return context.with(suppressTracing(ROOT_CONTEXT), run);
}
