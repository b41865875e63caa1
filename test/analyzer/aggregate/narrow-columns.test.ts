import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostPieces } from '../../../analyzer/src/aggregate/host-pieces.ts';
import { WaitList } from '../../../analyzer/src/aggregate/wait-list.ts';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { Export } from '../infer/service.ts';

test('pieces keep numbers that need more room than most, also those of other parts', () => {
  const records = [
    { endNs: 5, label: 0, served: -1 },
    { endNs: 2 ** 32, label: 7, served: 40_000 },
    { endNs: 2 ** 52, label: 2 ** 16, served: 1 },
  ];
  const one = new HostPieces();
  const other = new HostPieces();
  for (const into of [one, other]) {
    for (let i = 0; i <= 2 ** 16; i++) into.label({ segment: 0, queue: i, call: null });
  }
  one.pieces.push(records[0]);
  for (const record of records) other.pieces.push(record);
  one.hosts.push({ request: 0, row: 3, startNs: 1, piecesEnd: 1 });
  other.hosts.push({ request: 2, row: 9, startNs: 4, piecesEnd: 3 });
  one.merge(other.pack(), 10);
  assert.deepEqual([...one.pieces], [records[0], ...records]);
  assert.deepEqual(
    [...one.hosts],
    [
      { request: 0, row: 3, startNs: 1, piecesEnd: 1 },
      { request: 12, row: 9, startNs: 4, piecesEnd: 4 },
    ],
  );
});

test('rule 4: a hold of minutes contains the waits after its first seconds', () => {
  const out = new Export();
  const request = out.request(0, 120_000);
  request.wait('pool_wait', 'pg-pool:a', 0, 1, { capacity: 1, heldMs: 119_000 });
  request.wait('lock_wait', 'lock:b', 60_000, 61_000, { capacity: 1, heldMs: 10 });
  for (let i = 1; i < 40; i++) out.request(120_000 + i, 120_000 + i + 0.1);
  const { models } = analyze(out.input());
  const [pool, lock] = ['pg-pool:a', 'lock:b'].map((name) => models.find((model) => model.name === name)!);
  const nested = pool.series.nestedNs.get(lock.queue.index) ?? new Float64Array();
  assert.equal(
    nested.reduce((a, b) => a + b, 0),
    1e9,
  );
});

test('waits keep every number of servers and waiters, stated or not', () => {
  const wait = { queue: 1, instance: 2, request: 3, row: 4, startNs: 5, endNs: 6, outcome: 0 };
  const records = [
    { ...wait, inUse: 3, depth: null },
    { ...wait, inUse: null, depth: 2 ** 24 + 1 },
    { ...wait, inUse: 0.1, depth: 2 ** 40 },
  ];
  const [some, all] = [new WaitList(), new WaitList()];
  some.push(records[0]);
  for (const record of records) all.push(record);
  some.append(all.pack());
  assert.deepEqual([...some], [records[0], ...records]);
});
