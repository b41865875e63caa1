import pg from 'pg';
import type { Invariant } from '../load/load-file.ts';
import type { StatsAnswer } from '../service/stats.ts';

interface Counts {
  readonly registrations: number;
  readonly sold: number;
  readonly negative: number;
  readonly unbalanced: number;
  readonly overbooked: number;
  readonly double: number;
  readonly incomplete: number;
  readonly orphans: number;
  readonly audits: number;
  readonly outbox: number;
}

/**
 * One pass over the data of a run. `$1` registrations were there before it, `$2` is the stock of a campaign,
 * `$3` the parts of an audit record. Rows of one campaign's stock are numbered 1000 apart.
 */
const COUNTS = `
WITH fresh AS (SELECT * FROM registration WHERE id > $1),
     stock AS (SELECT id % 1000 AS campaign, sum(stock) AS stock, sum(sold) AS sold FROM campaign GROUP BY 1),
     taken AS (SELECT campaign_id AS campaign, count(*) AS count FROM fresh GROUP BY 1),
     records AS (SELECT registration_id, count(*) AS parts FROM audit GROUP BY 1)
SELECT
  (SELECT count(*) FROM fresh)::int AS registrations,
  (SELECT sum(sold) FROM stock)::int AS sold,
  (SELECT count(*) FROM campaign WHERE campaign.stock < 0)::int AS negative,
  (SELECT count(*) FROM stock WHERE stock + sold <> $2)::int AS unbalanced,
  (SELECT count(*) FROM stock LEFT JOIN taken USING (campaign)
     WHERE sold <> coalesce(count, 0) OR coalesce(count, 0) > $2)::int AS overbooked,
  (SELECT count(*) FROM (SELECT 1 FROM registration GROUP BY campaign_id, user_id HAVING count(*) > 1) AS twice)::int AS double,
  (SELECT count(*) FROM fresh LEFT JOIN records ON registration_id = fresh.id WHERE parts IS DISTINCT FROM $3)::int AS incomplete,
  (SELECT count(*) FROM records LEFT JOIN fresh ON registration_id = fresh.id WHERE fresh.id IS NULL)::int AS orphans,
  (SELECT count(*) FROM records)::int AS audits,
  (SELECT count(*) FROM outbox)::int AS outbox`;

export interface InvariantInput {
  readonly databaseUrl: string;
  /** Highest registration id of the preloaded data. */
  readonly preloaded: number;
  readonly stock: number;
  readonly auditParts: number;
  /** State of the service after the load, when everything should be quiet; null where it was not running. */
  readonly stats: StatsAnswer | null;
}

/** Checks what must be true of the data after any run, however it went. */
export async function checkInvariants(input: InvariantInput): Promise<Invariant[]> {
  const client = new pg.Client({ connectionString: input.databaseUrl });
  await client.connect();
  const { rows } = await client.query<Counts>(COUNTS, [input.preloaded, input.stock, input.auditParts]);
  await client.end();
  const counts = rows[0]!;
  const { stats } = input;
  const invariants: Invariant[] = [
    {
      name: 'registrations never exceed the stock, and each took one',
      holds: counts.overbooked === 0 && counts.negative === 0 && counts.registrations === counts.sold,
      detail: `${counts.registrations} registrations, ${counts.sold} sold, ${counts.overbooked} campaigns off`,
    },
    {
      name: 'stock + sold is constant',
      holds: counts.unbalanced === 0,
      detail: `${counts.unbalanced} campaigns off`,
    },
    {
      name: 'one registration per user and campaign',
      holds: counts.double === 0,
      detail: `${counts.double} double`,
    },
    {
      name: 'every registration has its audit record, and every record its registration',
      holds: counts.incomplete === 0 && counts.orphans === 0,
      detail: `${counts.audits} records, ${counts.incomplete} registrations without, ${counts.orphans} records without`,
    },
    { name: 'the outbox is empty', holds: counts.outbox === 0, detail: `${counts.outbox} rows` },
  ];
  if (stats !== null) {
    const { active, waiting, pool } = stats;
    invariants.push({
      name: 'all queues are back to zero',
      holds: active === 0 && waiting === 0 && pool.inUse === 0 && pool.waiting === 0,
      detail: `admission ${active} active, ${waiting} waiting; pool ${pool.inUse} in use, ${pool.waiting} waiting`,
    });
  }
  return invariants;
}
