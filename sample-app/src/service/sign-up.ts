import type pg from 'pg';
import { auditBody } from './audit-record.ts';
import { stockRowId } from './schema.ts';
import type { ServiceConfig } from './variants.ts';

/** How a sign-up ended; everything but `registered` was rolled back. */
export type SignUpResult =
  | { readonly kind: 'registered'; readonly id: string }
  | { readonly kind: 'already-registered' }
  | { readonly kind: 'sold-out' };

const UNIQUE_VIOLATION = '23505';

/** The stock is taken and the registration made in one statement: one round trip less while the row is locked. */
const TAKE_AND_REGISTER = `
WITH taken AS (
  UPDATE campaign SET stock = stock - 1, sold = sold + 1 WHERE id = $1 AND stock > 0 RETURNING id
)
INSERT INTO registration (campaign_id, user_id) SELECT $2::int, $3::bigint FROM taken RETURNING id`;
/** With the outbox row too, nothing is left to do while the row is locked but to commit. */
const TAKE_REGISTER_AND_NOTE = `
WITH taken AS (
  UPDATE campaign SET stock = stock - 1, sold = sold + 1 WHERE id = $1 AND stock > 0 RETURNING id
), made AS (
  INSERT INTO registration (campaign_id, user_id) SELECT $2::int, $3::bigint FROM taken RETURNING id, user_id
)
INSERT INTO outbox (registration_id, user_id) SELECT id, user_id FROM made RETURNING registration_id AS id`;
const REGISTER = 'INSERT INTO registration (campaign_id, user_id) VALUES ($1, $2) RETURNING id';
const TAKE = 'UPDATE campaign SET stock = stock - 1, sold = sold + 1 WHERE id = $1 AND stock > 0';
const AUDIT = 'INSERT INTO audit (registration_id, part, body) VALUES ($1, $2, $3)';

/** Signs one user up for one campaign in one transaction on `client`; throws what the database throws. */
export async function signUp(
  client: pg.ClientBase,
  config: ServiceConfig,
  campaign: number,
  userId: number,
): Promise<SignUpResult> {
  await sleepOn(client, config.forced?.statementMs);
  await client.query('BEGIN');
  try {
    const result =
      config.hotRow === 'first'
        ? await takeThenWrite(client, config, campaign, userId)
        : await writeThenTake(client, config, campaign, userId);
    await client.query(result.kind === 'registered' ? 'COMMIT' : 'ROLLBACK');
    return result;
  } catch (error) {
    // Any other failure is the caller's: it throws the connection away, which ends the transaction.
    if ((error as pg.DatabaseError).code !== UNIQUE_VIOLATION) throw error;
    await client.query('ROLLBACK');
    return { kind: 'already-registered' };
  }
}

async function takeThenWrite(
  client: pg.ClientBase,
  config: ServiceConfig,
  campaign: number,
  userId: number,
): Promise<SignUpResult> {
  for (const row of stockRows(campaign, userId, config.stockRows)) {
    const taken = await client.query<{ id: string }>({
      ...(config.audit === 'outbox'
        ? { name: 'take-register-and-note', text: TAKE_REGISTER_AND_NOTE }
        : { name: 'take-and-register', text: TAKE_AND_REGISTER }),
      values: [row, campaign, userId],
    });
    const id = taken.rows[0]?.id;
    if (id === undefined) continue;
    if (config.audit === 'transaction') await writeAudit(client, config, id, userId);
    await sleepOn(client, config.forced?.lockedMs);
    return { kind: 'registered', id };
  }
  return { kind: 'sold-out' };
}

async function writeThenTake(
  client: pg.ClientBase,
  config: ServiceConfig,
  campaign: number,
  userId: number,
): Promise<SignUpResult> {
  const registered = await client.query<{ id: string }>({
    name: 'register',
    text: REGISTER,
    values: [campaign, userId],
  });
  const { id } = registered.rows[0]!;
  await writeAudit(client, config, id, userId);
  for (const row of stockRows(campaign, userId, config.stockRows)) {
    const taken = await client.query({ name: 'take', text: TAKE, values: [row] });
    if (taken.rowCount === 1) return { kind: 'registered', id };
  }
  return { kind: 'sold-out' };
}

/** The rows of the campaign's stock, each user starting at another one, so that the rows empty evenly. */
function* stockRows(campaign: number, userId: number, count: number): Generator<number> {
  for (let offset = 0; offset < count; offset++) yield stockRowId(campaign, (userId + offset) % count);
}

/** A statement that takes a given time and no CPU; none where no time is given. */
async function sleepOn(client: pg.ClientBase, ms: number | undefined): Promise<void> {
  if (ms !== undefined) await client.query('SELECT pg_sleep($1)', [ms / 1e3]);
}

async function writeAudit(
  client: pg.ClientBase,
  config: ServiceConfig,
  registrationId: string,
  userId: number,
): Promise<void> {
  for (let part = 0; part < config.auditRows; part++) {
    const body = auditBody(Math.ceil(config.auditBytes / config.auditRows), userId, registrationId);
    await client.query({ name: 'audit', text: AUDIT, values: [registrationId, part, body] });
  }
}
