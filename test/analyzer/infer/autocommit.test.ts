import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { Export, steps } from './service.ts';

const UPDATE_MS = 20;

test('a hot row that single statements lock: held from the grant to the end of each, its queue is named', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(
    [15, 25, 35, 45, 55, 65].map((perSecond) => ({ perSecond, seconds: 4 })),
  );
  const freeAt = new Map<string, number>();
  for (const [i, at] of arrivalsMs.entries()) {
    const key = i % 5 === 4 ? `row ${i % 50}` : 'hot';
    const sent = at + 1;
    const granted = Math.max(sent, freeAt.get(key) ?? 0);
    const done = granted + UPDATE_MS;
    freeAt.set(key, done);
    const request = out.request(at, done + 1);
    const statement = request.call('UPDATE item', 'db', sent, done, [['db.system.name', 'postgresql']]);
    // As recorded: a visit without a wait is placed where the reply came.
    const span: [number, number] = granted > sent ? [sent, granted] : [done - 0.01, done - 0.01];
    request.wait('lock_wait', 'lock:item', ...span, { capacity: 1, key }, statement);
  }
  const { verdict, resources } = analyze(out.plan(plan).input());
  assert.equal(verdict.status, 'saturated');
  assert.equal(verdict.first?.resource, 'lock:item');
  const alone = resources.find(({ resource }) => resource === 'lock:item')!.saturatesAtPerSecond!;
  const expected = 1000 / (0.8 * UPDATE_MS);
  assert.ok(Math.abs(alone / expected - 1) < 0.03, `${alone}/s, not ${expected}/s`);
});
