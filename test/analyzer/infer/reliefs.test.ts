import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceKind } from '../../../analyzer/src/classify/types.ts';
import { limiterOf, reliefsOf } from '../../../analyzer/src/infer/reliefs.ts';
import { type LoopWait, limitsOf, type NetworkQueue } from '../../../analyzer/src/infer/service-network.ts';
import { MS, model } from './sketch.ts';

interface Shape {
  readonly index: number;
  readonly name: string;
  readonly kind: ResourceKind;
  readonly demandMs: number;
  readonly servers: number;
  readonly insideMs?: Readonly<Record<number, number>>;
  readonly loopWaits?: ReadonlyMap<number, LoopWait>;
}

function queue({ index, name, kind, demandMs, servers, insideMs, loopWaits }: Shape): NetworkQueue {
  const alone = (servers * 1000) / demandMs;
  return {
    model: model({ index, name, kind, saturatesAt: alone, waitMs: [0], demandMs, capacity: servers }, [10]),
    servers,
    demandNs: demandMs * MS,
    alonePerSecond: alone,
    insideNs: new Map(Object.entries(insideMs ?? {}).map(([key, ms]) => [Number(key), ms * MS])),
    loopWaits: loopWaits ?? new Map(),
  };
}

const names = (network: NetworkQueue[]) =>
  reliefsOf(network, limitsOf(network)[0]).map((relief) => relief.queue.model.name);

test('relief of the only slow queue is followed in full', () => {
  const network = [
    queue({ index: 0, name: 'lock', kind: 'lock', demandMs: 10, servers: 1 }),
    queue({ index: 1, name: 'pool', kind: 'pool', demandMs: 12, servers: 10, insideMs: { 0: 10 } }),
  ];
  const [first] = reliefsOf(network, limitsOf(network)[0]);
  assert.equal(first.queue.model.name, 'lock');
  assert.equal(first.factor, 2);
  assert.ok(first.elasticity > 0.8, `${first.elasticity}`);
});

test('a small pool around a row: the row has the lower rate, yet the pool is what holds both back', () => {
  const network = [
    queue({ index: 0, name: 'lock', kind: 'lock', demandMs: 9.8, servers: 1 }),
    queue({ index: 1, name: 'pool', kind: 'pool', demandMs: 40, servers: 4, insideMs: { 0: 9.8 } }),
  ];
  const reliefs = reliefsOf(network, limitsOf(network)[0]);
  assert.ok(reliefs.every(({ elasticity }) => elasticity < 0.6));
  assert.deepEqual(new Set(reliefs.map((relief) => relief.queue.model.name)), new Set(['lock', 'pool']));
});

test('a lock stretched by a busy loop: the loop helps more than a second row would', () => {
  const waits = new Map([[1, { alwaysNs: 0, atEvenOddsNs: 6 * MS }]]);
  const network = [
    queue({ index: 0, name: 'lock', kind: 'lock', demandMs: 2, servers: 1, loopWaits: waits }),
    queue({ index: 1, name: 'eventloop', kind: 'eventloop', demandMs: 10, servers: 1 }),
  ];
  assert.equal(names(network)[0], 'eventloop');
  assert.equal(limitsOf(network)[0].cause.model.name, 'eventloop');
});

test('queues far from the limit are not tried', () => {
  const network = [
    queue({ index: 0, name: 'lock', kind: 'lock', demandMs: 10, servers: 1 }),
    queue({ index: 1, name: 'slots', kind: 'admission', demandMs: 20, servers: 200 }),
  ];
  assert.deepEqual(names(network), ['lock']);
});

test('several queues full at once: where no relief helps, the cause of the lowest limit is named', () => {
  const network = [
    queue({ index: 0, name: 'lock', kind: 'lock', demandMs: 10, servers: 1 }),
    queue({ index: 1, name: 'other', kind: 'lock', demandMs: 10, servers: 1 }),
    queue({ index: 2, name: 'eventloop', kind: 'eventloop', demandMs: 9.99, servers: 1 }),
  ];
  const [lowest] = limitsOf(network);
  assert.ok(reliefsOf(network, lowest).every(({ elasticity }) => elasticity < 0.05));
  assert.equal(limiterOf(network, lowest), lowest.cause);
});

test('of reliefs that help alike the queue with the lowest rate alone is named', () => {
  const [slow, fast] = [
    queue({ index: 0, name: 'slow', kind: 'pool', demandMs: 10, servers: 1 }),
    queue({ index: 1, name: 'fast', kind: 'pool', demandMs: 9, servers: 1 }),
  ];
  const alike = [fast, slow].map((one) => ({ queue: one, factor: 2, perSecond: 120, elasticity: 0.2 }));
  assert.equal(limiterOf([slow, fast], limitsOf([slow, fast])[0], alike), slow);
});

test('where nothing helps alone because two are full together, the one that is full by itself limits', () => {
  const loop = queue({ index: 2, name: 'eventloop', kind: 'eventloop', demandMs: 2, servers: 1 });
  const network = [
    queue({ index: 0, name: 'risk', kind: 'downstream', demandMs: 8.2, servers: 1 }),
    queue({
      index: 1,
      name: 'pool',
      kind: 'pool',
      demandMs: 12,
      servers: 2,
      loopWaits: new Map([[2, { alwaysNs: 4.6 * MS, atEvenOddsNs: 0 }]]),
    }),
    loop,
  ];
  const [lowest] = limitsOf(network);
  assert.equal(lowest.queue.model.name, 'pool');
  assert.ok(lowest.perSecond > 117 && lowest.perSecond < 122, `${lowest.perSecond}`);
  assert.ok(reliefsOf(network, lowest).every(({ elasticity }) => elasticity < 0.05));
  assert.equal(limiterOf(network, lowest).model.name, 'risk');
});
