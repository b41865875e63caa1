import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { groupIndexes } from '../../../analyzer/src/aggregate/index-groups.ts';
import { QueueIndex, STEP } from '../../../analyzer/src/aggregate/queue-index.ts';
import { SingleWaits } from '../../../analyzer/src/aggregate/single-waits.ts';
import { SliceList } from '../../../analyzer/src/aggregate/slice-list.ts';
import { sortByRequest } from '../../../analyzer/src/aggregate/sort-records.ts';

test('indexes are grouped as lists that grow would group them', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat({ max: 5 }))), (keys) => {
      const wanted = new Map<number, number[]>();
      keys.forEach((key, i) => {
        if (key !== null) wanted.set(key, [...(wanted.get(key) ?? []), i]);
      });
      const found = [...groupIndexes(keys.length, (i) => keys[i])].map(([key, own]) => [key, [...own]]);
      assert.deepEqual(found, [...wanted]);
    }),
  );
});

test('records are sorted by request from some index on; those of one request keep their order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 6 }), { maxLength: 30 }), fc.nat({ max: 30 }), (requests, from) => {
      const slices = new SliceList();
      requests.forEach((request, i) => {
        slices.push({ queue: 0, instance: 0, request, startNs: i, endNs: i });
      });
      const first = Math.min(from, requests.length);
      sortByRequest(slices, first);
      const all = requests.map((request, i) => ({ request, i }));
      const wanted = [...all.slice(0, first), ...all.slice(first).sort((a, b) => a.request - b.request)];
      assert.deepEqual(
        [...slices].map(({ request, startNs }) => ({ request, i: startNs })),
        wanted,
      );
      // There is room again.
      slices.push({ queue: 1, instance: 2, request: 3, startNs: 4, endNs: 5 });
      assert.deepEqual(slices.at(requests.length), {
        queue: 1,
        instance: 2,
        request: 3,
        startNs: 4,
        endNs: 5,
      });
    }),
  );
});

test('queues met in parts are numbered as one pass over all requests would have met them', () => {
  // Requests by rank; two parts, each in order of its own.
  const seen = [
    { request: 0, rank: 2, queue: 'b', instance: 'y' },
    { request: 1, rank: 5, queue: 'a', instance: 'x' },
    { request: 2, rank: 0, queue: 'a', instance: 'z' },
    { request: 3, rank: 1, queue: 'c', instance: 'x' },
  ];
  const index = new QueueIndex();
  for (const part of [seen.slice(0, 2), seen.slice(2)]) {
    index.startPart(part[0].request);
    for (const { request, queue, instance } of part) {
      index.at(STEP.spans, request);
      index.instance(index.of('pool', queue, 'shop'), instance);
    }
  }
  const { queue, instances } = index.settle((request) => seen[request].rank);
  assert.deepEqual(
    index.queues.map((one) => [one.index, one.name, one.instances]),
    [
      [0, 'a', ['z', 'x']],
      [1, 'c', ['x']],
      [2, 'b', ['y']],
    ],
  );
  assert.deepEqual([...queue], [2, 0, 1]);
  assert.deepEqual(
    instances.map((own) => [...own]),
    [[0], [1, 0], [0]],
  );
  assert.equal(index.find('pool', 'b', 'shop'), 2);
});

test('single waits know for how many requests each stands', () => {
  const waits = new SingleWaits();
  for (let i = 0; i < 40; i++) waits.push(i, 1);
  assert.equal(waits.weights, null);
  waits.push(40, 2.5);
  waits.lessen(10);
  assert.deepEqual([...waits.ns].slice(8, 13), [0, 0, 0, 1, 2]);
  assert.deepEqual([...(waits.weights ?? [])].slice(-2), [1, 2.5]);
  assert.equal(waits.ns.length, 41);
});
