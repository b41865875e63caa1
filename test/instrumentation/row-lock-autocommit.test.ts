import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, connected, useLockBench } from './support/lock-bench.ts';
import { request } from './support/recording.ts';

useLockBench();

/** The row is held this long by each statement, inside the server. */
const STATEMENT_MS = 25;

/** Texts as query builders write them that put values into them: each one is new. */
const inlined = (round: number) =>
  `UPDATE slow SET n = n + 1, at = '2026-01-01 00:00:${String(round % 60).padStart(2, '0')}' WHERE id = 1`;

for (const [how, text] of Object.entries({ 'one text': () => inlined(0), 'a new text each': inlined })) {
  test(`statements that commit by themselves on one row, ${how}: a wait ends where the next in line begins`, async () => {
    const clients = await Promise.all(Array.from({ length: 5 }, connected));
    await clients[0].query(`
      DROP TABLE IF EXISTS slow;
      CREATE TABLE slow (id int PRIMARY KEY, n int NOT NULL DEFAULT 0, at timestamp);
      INSERT INTO slow VALUES (1), (2);
      CREATE OR REPLACE FUNCTION settle() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(${STATEMENT_MS / 1e3}); RETURN NEW; END $$;
      CREATE TRIGGER settle AFTER UPDATE ON slow FOR EACH ROW EXECUTE FUNCTION settle();`);
    bench.recording.clear();
    const realMs: number[] = [];
    let round = 0;
    await Promise.all(
      clients.map(async (client) => {
        for (let i = 0; i < 3; i++) {
          await request(async () => {
            const sentMs = performance.now();
            await client.query(text(round++));
            realMs.push(performance.now() - sentMs);
          });
        }
      }),
    );
    await Promise.all(clients.map((client) => client.end()));
    const sum = (numbers: number[]) => numbers.reduce((total, value) => total + value, 0);
    const spans = bench.recording.segment('lock_wait');
    assert.equal(spans.length, realMs.length);
    // Each statement takes its 25 ms by itself: all that is beyond them was waiting.
    const truth = sum(realMs.map((ms) => ms - STATEMENT_MS));
    const ratio = sum(spans.map((span) => span.lengthMs)) / truth;
    assert.ok(ratio > 0.85 && ratio < 1.1, `waits are ${ratio} of what was beyond the statements`);
  });
}
