import type pg from 'pg';

/** Campaign 1 is the one everybody wants; campaigns 2 to 51 share the rest. */
export const CAMPAIGNS = 51;

/** Campaigns are numbered below this, so that a row of a spread stock can be numbered beside them. */
const ROW_STRIDE = 1000;

/** @returns the id of the `part`-th row of a campaign's stock. */
export function stockRowId(campaign: number, part: number): number {
  return part * ROW_STRIDE + campaign;
}

/**
 * fillfactor 40 leaves room for new versions of the hot row on its own page, and the low vacuum threshold keeps
 * their number small: the time to find the row then does not grow during a run.
 */
const TABLES = `
CREATE TABLE campaign (
  id    int PRIMARY KEY,
  stock int NOT NULL CHECK (stock >= 0),
  sold  int NOT NULL DEFAULT 0
) WITH (fillfactor = 40, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

CREATE TABLE registration (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  campaign_id int NOT NULL,
  user_id     bigint NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  UNIQUE (campaign_id, user_id)
);

CREATE TABLE audit (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  registration_id bigint NOT NULL,
  part            int NOT NULL,
  body            json NOT NULL,
  UNIQUE (registration_id, part)
);
ALTER TABLE audit ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE outbox (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  registration_id bigint NOT NULL,
  user_id         bigint NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
`;

/** What the database of one run holds before the first request. */
export interface DataScale {
  /** Registrations that are there already, all in campaigns other than the hot one. */
  readonly registrations: number;
  /** Stock of each campaign, over all its rows. */
  readonly stock: number;
  /** Rows over which the stock of one campaign is spread. */
  readonly stockRows: number;
}

/** Creates and fills the tables. @returns the highest registration id of the preloaded data. */
export async function createTables(client: pg.ClientBase, scale: DataScale): Promise<number> {
  await client.query(TABLES);
  await client.query(
    `INSERT INTO campaign (id, stock)
     SELECT part * ${ROW_STRIDE} + campaign, $1::int / $2::int + (part < $1::int % $2::int)::int
     FROM generate_series(1, ${CAMPAIGNS}) AS campaign, generate_series(0, $2::int - 1) AS part`,
    [scale.stock, scale.stockRows],
  );
  await client.query(
    `INSERT INTO registration (campaign_id, user_id)
     SELECT 2 + n % ${CAMPAIGNS - 1}, -n FROM generate_series(1, $1::bigint) AS n`,
    [scale.registrations],
  );
  await client.query('VACUUM ANALYZE registration, campaign');
  // Needs a privilege that the user of an existing server may not have; the run is valid without it.
  await client.query('CHECKPOINT').catch(() => {});
  return scale.registrations;
}
