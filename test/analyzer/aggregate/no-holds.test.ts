import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { Export, steps } from '../infer/service.ts';

test('a lock of which only waits are known: its utilisation is unknown, not 0', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps([20, 40].map((perSecond) => ({ perSecond, seconds: 3 })));
  for (const at of arrivalsMs) out.request(at, at + 20).wait('lock_wait', 'lock:item', at + 1, at + 9);
  const { resources } = analyze(out.plan(plan).input());
  const lock = resources.find(({ resource }) => resource === 'lock:item')!;
  assert.deepEqual(
    lock.windows.map(({ utilization }) => utilization),
    [null, null],
  );
  assert.equal(lock.saturatesAtPerSecond, null);
  assert.ok(lock.windows.every(({ meanWaitNs }) => meanWaitNs === 8e6));
});
