/**
 * The process that owns the database of one run and outlives its parent by a moment.
 *
 * It sits in a session of its own, so Ctrl-C does not reach it. Whatever ends the parent (a normal end, a
 * signal, kill -9) closes the channel between the two; the keeper then stops PostgreSQL and removes its
 * directory, or drops the schemas made on somebody else's server.
 */
import pg from 'pg';
import { Cluster, type Settings } from './cluster.ts';
import { removeLeftovers } from './leftovers.ts';

/** What the parent asks for, as JSON in the first argument. */
export type KeeperOrder =
  | { readonly kind: 'embedded'; readonly settings: Settings }
  | { readonly kind: 'external'; readonly url: string; readonly schemaPrefix: string };

/** What the keeper says, once. */
export type KeeperReply =
  | { readonly url: string; readonly pid: number | null; readonly directory: string | null }
  | { readonly error: string };

/** Drops every schema whose name starts with `prefix`. */
async function dropSchemas(url: string, prefix: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const found = await client.query<{ name: string }>(
    'SELECT nspname AS name FROM pg_namespace WHERE starts_with(nspname, $1)',
    [prefix],
  );
  for (const { name } of found.rows) await client.query(`DROP SCHEMA ${pg.escapeIdentifier(name)} CASCADE`);
  await client.end();
}

async function keep(order: KeeperOrder): Promise<void> {
  await removeLeftovers();
  const cluster = order.kind === 'embedded' ? await Cluster.create() : null;
  let ending = false;
  const end = async () => {
    if (ending) return;
    ending = true;
    try {
      if (cluster) await cluster.stop();
      else if (order.kind === 'external') await dropSchemas(order.url, order.schemaPrefix);
      process.exit(0);
    } catch (error) {
      console.error(`the database of this run was not cleaned up: ${error}`);
      process.exit(1);
    }
  };
  process.on('disconnect', end);
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  if (!process.connected) return end();
  const answer = (reply: KeeperReply) => {
    if (process.connected) process.send?.(reply);
  };
  try {
    const url = order.kind === 'external' ? order.url : await cluster!.start(order.settings);
    answer({ url, pid: cluster?.pid ?? null, directory: cluster?.directory ?? null });
  } catch (error) {
    if (ending) return;
    answer({ error: error instanceof Error ? error.message : String(error) });
    await end();
  }
}

await keep(JSON.parse(process.argv[2]!) as KeeperOrder);
