import type pg from 'pg';
import { auditBody } from '../service/audit-record.ts';

/** What one pass over the outbox did. */
export interface Expanded {
  readonly records: number;
  /** Age of the oldest outbox row of the batch when it was taken, ms. */
  readonly oldestMs: number;
}

interface Claimed {
  readonly registration_id: string;
  readonly user_id: string;
  readonly age_ms: number;
}

/** Rows that another worker has claimed are passed over; a worker that dies gives its rows back. */
const CLAIM = `
DELETE FROM outbox WHERE id IN (SELECT id FROM outbox ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING registration_id, user_id,
  (extract(epoch FROM clock_timestamp() - created_at) * 1000)::float8 AS age_ms`;

/**
 * Turns up to `batch` outbox rows into audit records. Deleting the rows and writing the records is one
 * transaction: whatever happens in between, each registration gets exactly one record.
 */
export async function expandBatch(
  client: pg.ClientBase,
  batch: number,
  auditBytes: number,
): Promise<Expanded> {
  await client.query('BEGIN');
  const { rows } = await client.query<Claimed>({ name: 'claim', text: CLAIM, values: [batch] });
  if (rows.length > 0) {
    // Single parameters: one array parameter of large JSON texts would be escaped character by character.
    const tuples = rows.map((_, index) => `($${2 * index + 1}, 0, $${2 * index + 2})`);
    await client.query({
      name: `write-${rows.length}`,
      text: `INSERT INTO audit (registration_id, part, body) VALUES ${tuples.join(', ')}`,
      values: rows.flatMap((row) => [
        row.registration_id,
        auditBody(auditBytes, Number(row.user_id), row.registration_id),
      ]),
    });
  }
  await client.query('COMMIT');
  return { records: rows.length, oldestMs: Math.max(0, ...rows.map((row) => row.age_ms)) };
}
