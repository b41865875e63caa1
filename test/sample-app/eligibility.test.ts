import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditBody } from '../../sample-app/src/service/audit-record.ts';
import { Eligibility, rulesDocument, TurnQueue } from '../../sample-app/src/service/eligibility.ts';

test('at most one waiting function runs in a turn of the event loop, first come first served', async () => {
  const turns = new TurnQueue();
  let turn = 0;
  const count = () => {
    turn++;
    if (turn < 100) setImmediate(count);
  };
  setImmediate(count);
  const ran = await Promise.all([1, 2, 3, 4].map((name) => turns.next().then(() => ({ name, turn }))));
  assert.deepEqual(
    ran.map(({ name }) => name),
    [1, 2, 3, 4],
  );
  assert.equal(new Set(ran.map((entry) => entry.turn)).size, 4);
  assert.equal(turns.length, 0);
});

test('cached and parsed rules decide the same', async () => {
  const parsed = new Eligibility(20, false);
  const cached = new Eligibility(20, true);
  for (const applicant of [
    { age: 40, region: 'r1' },
    { age: 9, region: 'r3' },
    { age: 9, region: 'nowhere' },
  ]) {
    assert.equal(await parsed.allows(applicant), await cached.allows(applicant));
  }
  assert.equal(await parsed.allows({ age: 9, region: 'nowhere' }), false);
  assert.equal(await parsed.allows({ age: 40, region: 'nowhere' }), true);
});

test('documents have the size that is asked for', () => {
  assert.ok(Math.abs(rulesDocument(600).length / (600 * 1024) - 1) < 0.02);
  for (const bytes of [1_000, 7_000, 56_000]) {
    const body = auditBody(bytes, 12, '34');
    assert.ok(Math.abs(body.length - bytes) < 200, `${body.length} for ${bytes}`);
    assert.equal(JSON.parse(body).registration, 34);
  }
});
