import { writeFile } from 'node:fs/promises';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Invariant, LoadFile } from '../load/load-file.ts';
import type { LoadMessage } from '../load/main.ts';
import { type LoadManifest, manifestHash } from '../load/manifest.ts';
import type { Database } from '../postgres/database.ts';
import type { Children } from '../run/children.ts';
import { offerLoad } from '../run/load.ts';
import { createTables } from '../service/schema.ts';
import type { StatsAnswer } from '../service/stats.ts';
import { type ServiceConfig, VARIANTS, type VariantName } from '../service/variants.ts';
import { checkInvariants } from './invariants.ts';
import { Monitor, readStats, type Sample } from './monitor.ts';
import { type MachineSpeed, measureRulesSpeed } from './rules-size.ts';
import { LINK_MBIT_PER_SECOND, startLink, startService, startWorker } from './stack.ts';

/** How long the queues and the outbox may take to empty after the last answer. */
const DRAIN_MS = 30_000;

export interface VariantRun {
  readonly variant: VariantName;
  readonly directory: string;
  readonly load: LoadFile;
  readonly invariants: readonly Invariant[];
  readonly samples: readonly Sample[];
  readonly speed: MachineSpeed;
}

export interface RunOptions {
  readonly variant: VariantName;
  readonly manifest: LoadManifest;
  /** Exists and is empty. */
  readonly directory: string;
  readonly database: Database;
  readonly children: Children;
  readonly registrations: number;
  readonly stock: number;
  /** Size of the eligibility rules, KiB. */
  readonly rulesKiB: number;
  /** How fast the machine was when that size was chosen, bytes of rules per second. */
  readonly sizedAt: number;
  readonly onMessage: (message: LoadMessage, last: Sample | null) => void;
}

/** Runs one variant of the service under the load. @returns what was measured; all of it lies in the directory. */
export async function runVariant(options: RunOptions): Promise<VariantRun> {
  const { variant, manifest, directory, database, children, registrations, stock } = options;
  const { throughLink, title } = VARIANTS[variant];
  const config: ServiceConfig = { ...VARIANTS[variant].config, rulesKiB: options.rulesKiB };
  const speedBefore = measureRulesSpeed();
  const databaseUrl = await database.createSchema(variant);
  const preloaded = await prepare(databaseUrl, registrations, stock, config.stockRows);
  const link = throughLink ? await startLink(children, databaseUrl) : null;
  const service = await startService(
    children,
    variant,
    link?.url ?? databaseUrl,
    join(directory, 'traces.jsonl'),
    { rulesKiB: config.rulesKiB },
  );
  const worker = await startWorker(children, VARIANTS[variant], databaseUrl);
  const pids = pidsOf({
    app: service.child.pid,
    db: database.pid,
    link: link?.child.pid,
    worker: worker?.pid,
  });
  await writeJson(join(directory, 'manifest.json'), {
    variant,
    title,
    workload: { hash: manifestHash(manifest), ...manifest },
    service: config,
    link: throughLink ? { mbitPerSecond: LINK_MBIT_PER_SECOND, per: 'connection and direction' } : null,
    data: { registrations, stockPerCampaign: stock },
    machine: {
      node: process.version,
      postgres: await serverVersion(databaseUrl),
      system: `${process.platform} ${release()}`,
      cpu: cpus()[0]?.model ?? null,
      cores: cpus().length,
      memoryBytes: totalmem(),
    },
  });
  const monitor = new Monitor(service.url, pids, join(directory, 'resources.jsonl'));
  try {
    const offered = await offerLoad(children, {
      manifest,
      url: service.url,
      directory,
      watch: pids,
      onMessage: (message) => options.onMessage(message, monitor.last),
    });
    const stats = await drain(service.url);
    await monitor.stop();
    // The service is stopped before the data is checked: what it still wanted to write is then written or lost.
    await children.stop(service.child);
    if (worker) await children.stop(worker);
    const invariants = await checkInvariants({
      databaseUrl,
      preloaded,
      stock,
      auditParts: config.audit === 'outbox' ? 1 : config.auditRows,
      stats,
    });
    const load = { ...offered, invariants: [...offered.invariants, ...invariants] };
    await writeJson(join(directory, 'load.json'), load);
    await writeJson(join(directory, 'invariants.json'), load.invariants);
    const speed = { sized: options.sizedAt, before: speedBefore, after: measureRulesSpeed() };
    return { variant, directory, load, invariants: load.invariants, samples: monitor.samples, speed };
  } finally {
    await monitor.stop();
    await children.stop(service.child);
    if (link) await children.stop(link.child);
  }
}

async function prepare(
  url: string,
  registrations: number,
  stock: number,
  stockRows: number,
): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await createTables(client, { registrations, stock, stockRows });
  } finally {
    await client.end();
  }
}

/** @returns the processes there are; a database elsewhere, or a variant without a worker, has none. */
function pidsOf(pids: Readonly<Record<string, number | null | undefined>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(pids).filter((entry): entry is [string, number] => entry[1] != null),
  );
}

async function serverVersion(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
  await client.end();
  return rows[0]!.server_version;
}

/** Waits until nobody waits any more. @returns the last state seen, whether quiet or not. */
async function drain(url: string): Promise<StatsAnswer | null> {
  const deadline = Date.now() + DRAIN_MS;
  for (;;) {
    const stats = await readStats(url);
    const busy =
      stats === null ||
      stats.active + stats.waiting + stats.pool.inUse + stats.pool.waiting > 0 ||
      (stats.outbox?.rows ?? 0) > 0;
    if (!busy || Date.now() > deadline) return stats;
    await sleep(100);
  }
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await writeFile(path, `${JSON.stringify(value, null, 2)}\n`);
}
