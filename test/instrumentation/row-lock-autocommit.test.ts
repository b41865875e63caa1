import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, connected, useLockBench } from './support/lock-bench.ts';
import { request } from './support/recording.ts';

useLockBench();

/** A process that is not scheduled sees replies late: of so many runs one must agree with the server. */
const RUNS = 4;
/** The row is held this long by each statement, inside the server. */
const STATEMENT_MS = 25;

/** Texts as query builders write them that put values into them: each one is new. */
const inlined = (round: number) =>
  `UPDATE slow SET n = n + 1, at = '2026-01-01 00:00:${String(round % 60).padStart(2, '0')}' WHERE id = 1
  RETURNING extract(epoch FROM clock_timestamp() - statement_timestamp())::float8 * 1000 AS waited`;

for (const [how, text] of Object.entries({ 'one text': () => inlined(0), 'a new text each': inlined })) {
  test(`statements that commit by themselves on one row, ${how}: a wait ends where the next in line begins`, async () => {
    const clients = await Promise.all(Array.from({ length: 5 }, () => connected()));
    await clients[0].query(`
      DROP TABLE IF EXISTS slow;
      CREATE TABLE slow (id int PRIMARY KEY, n int NOT NULL DEFAULT 0, at timestamp);
      INSERT INTO slow VALUES (1), (2);
      CREATE OR REPLACE FUNCTION settle() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(${STATEMENT_MS / 1e3}); RETURN NEW; END $$;
      CREATE TRIGGER settle AFTER UPDATE ON slow FOR EACH ROW EXECUTE FUNCTION settle();`);
    const disagreements: string[] = [];
    for (let attempt = 0; attempt < RUNS && disagreements.length === attempt; attempt++) {
      bench.recording.clear();
      let turns = 0;
      let truthMs = 0;
      await Promise.all(
        clients.map(async (client) => {
          for (let i = 0; i < 3; i++) {
            await request(async () => {
              // The server gives the row out as soon as it has it, and settles it then.
              const { rows } = await client.query(text(turns++));
              truthMs += rows[0].waited;
            });
          }
        }),
      );
      const waits = bench.recording.segment('lock_wait');
      assert.equal(waits.length, turns);
      const waitedMs = waits.reduce((sum, span) => sum + span.lengthMs, 0);
      // Waits that lasted to the reply would hold the time of the statement itself, too.
      const tooMuch = waitedMs - truthMs > (turns * STATEMENT_MS) / 2;
      if (tooMuch || waitedMs < truthMs * 0.7)
        disagreements.push(`${waitedMs} ms for the server's ${truthMs} ms`);
    }
    await Promise.all(clients.map((client) => client.end()));
    assert.ok(disagreements.length < RUNS, disagreements.join('; '));
  });
}
