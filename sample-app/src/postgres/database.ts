import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { Settings } from './cluster.ts';
import type { KeeperOrder, KeeperReply } from './keeper.ts';

/**
 * Settings for measurements: commits do not wait for the disk, whose speed varies too much from machine to
 * machine; no checkpoint and little vacuum inside a run of a few minutes.
 */
const SETTINGS: Settings = {
  shared_buffers: '256MB',
  max_connections: '100',
  synchronous_commit: 'off',
  jit: 'off',
  checkpoint_timeout: '30min',
  max_wal_size: '4GB',
  autovacuum_naptime: '20s',
};

/** The database server of one run. */
export interface Database {
  /** Connection URL of the server, without a schema. */
  readonly url: string;
  /** Process id of the server; null where it runs elsewhere. */
  readonly pid: number | null;
  /** Temporary directory of the server; null where it is not ours. */
  readonly directory: string | null;
  /** Creates an empty schema of its own; the same name may be asked for again. @returns a URL whose connections see only that schema. */
  createSchema(name: string): Promise<string>;
  /** Stops and removes the server, or drops this run's schemas on an existing one. */
  close(): Promise<void>;
}

/**
 * Starts a PostgreSQL server of our own on a free port, or, with `existingUrl`, uses that server in schemas of
 * our own. Either is cleaned up by a separate process even when this one is killed.
 */
export async function openDatabase(existingUrl?: string, settings: Settings = {}): Promise<Database> {
  const schemaPrefix = `waitfall_${randomBytes(4).toString('hex')}_`;
  const order: KeeperOrder = existingUrl
    ? { kind: 'external', url: existingUrl, schemaPrefix }
    : { kind: 'embedded', settings: { ...SETTINGS, ...settings } };
  const keeper = fork(fileURLToPath(new URL('keeper.ts', import.meta.url)), [JSON.stringify(order)], {
    detached: true,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const reply = await firstReply(keeper);
  if ('error' in reply) throw new Error(reply.error);
  keeper.once('exit', () => void afterLostKeeper(reply));
  const { url, pid, directory } = reply;
  let schemas = 0;
  return {
    url,
    pid,
    directory,
    async createSchema(name) {
      const schema = `${schemaPrefix}${++schemas}_${name.replaceAll(/\W/g, '_')}`;
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query(`CREATE SCHEMA ${pg.escapeIdentifier(schema)}`);
      await client.end();
      const own = new URL(url);
      own.searchParams.set('options', `-c search_path=${schema}`);
      return own.href;
    },
    async close() {
      keeper.removeAllListeners('exit');
      if (keeper.exitCode !== null || keeper.signalCode !== null) return;
      const ended = once(keeper, 'exit');
      if (keeper.connected) keeper.disconnect();
      await ended;
    },
  };
}

async function firstReply(keeper: ChildProcess): Promise<KeeperReply> {
  return new Promise((resolve) => {
    keeper.once('message', (message) => resolve(message as KeeperReply));
    keeper.once('exit', (code, signal) =>
      resolve({ error: `the process that keeps PostgreSQL ended before it was ready (${signal ?? code})` }),
    );
  });
}

/** Somebody killed the keeper while we live: do its work. */
async function afterLostKeeper(reply: KeeperReply): Promise<void> {
  if ('error' in reply || reply.pid === null || reply.directory === null) return;
  try {
    process.kill(reply.pid, 'SIGQUIT');
  } catch {
    // It is gone already.
  }
  await rm(reply.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
