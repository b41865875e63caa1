import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFirst } from '../../../analyzer/src/infer/first-queue.ts';
import { isSaturated, lossesGrow, waitsGrow } from '../../../analyzer/src/infer/saturation.ts';
import { frame, model, RATES } from './sketch.ts';

const GROWING = [0.1, 0.2, 1, 5, 40, 90];
const FLAT = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1];
const FILLING = [0.2, 0.4, 0.6, 0.8, 1, 1];

test('rule 6: waits must grow by factor and by time a request', () => {
  const f = frame();
  const grows = (waitMs: number[]) =>
    waitsGrow(model({ index: 0, name: 'a', kind: 'pool', saturatesAt: 100, waitMs }), f);
  assert.equal(grows(GROWING), true);
  assert.equal(grows(FLAT), false);
  // Ten times as long, but nothing anybody notices.
  assert.equal(grows([0.001, 0.001, 0.002, 0.005, 0.01, 0.02]), false);
  // Long from the beginning.
  assert.equal(grows([50, 50, 55, 60, 60, 60]), false);
});

test('rule 6: growing waits without a full server are no saturation', () => {
  const at = (utilization: number[]) =>
    isSaturated(
      model({ index: 0, name: 'a', kind: 'pool', saturatesAt: 100, waitMs: GROWING, utilization }),
      frame(),
    );
  assert.equal(at(FILLING), true);
  assert.equal(at([0.1, 0.2, 0.3, 0.5, 0.7, 0.85]), false);
  // A closed loop never fills a queue to the brim.
  const closed = model({
    index: 0,
    name: 'a',
    kind: 'pool',
    saturatesAt: 100,
    waitMs: GROWING,
    utilization: [0.1, 0.2, 0.3, 0.5, 0.7, 0.87],
  });
  assert.equal(isSaturated(closed, frame(), true), true);
});

test('rule 6: losing counts like queueing', () => {
  const losing = model({
    index: 0,
    name: 'a',
    kind: 'admission',
    saturatesAt: 100,
    waitMs: FLAT,
    utilization: FILLING,
    loss: [0, 0, 0.01, 0.05, 0.2, 0.3],
  });
  assert.equal(lossesGrow(losing), true);
  assert.equal(findFirst([losing], frame())?.model.name, 'a');
});

test('rule 7: the lowest R among queues that grow, not the longest wait', () => {
  const lock = model({
    index: 0,
    name: 'lock:a',
    kind: 'lock',
    saturatesAt: 82,
    waitMs: [0, 0.1, 1, 3, 20, 30],
    utilization: FILLING,
  });
  const pool = model({
    index: 1,
    name: 'pg-pool:a',
    kind: 'pool',
    saturatesAt: 400,
    waitMs: [0, 0, 0, 9, 300, 900],
    utilization: FILLING,
  });
  const idle = model({
    index: 2,
    name: 'other',
    kind: 'pool',
    saturatesAt: 70,
    waitMs: FLAT,
    utilization: FILLING,
  });
  const first = findFirst([idle, lock, pool], frame());
  assert.equal(first?.model.name, 'lock:a');
  assert.equal(first?.rule, '7');
  assert.deepEqual(first?.nearTies, []);
});

test('rule 7: a queue behind the bottleneck is not as busy as its R promises', () => {
  const behind = model({
    index: 0,
    name: 'behind',
    kind: 'pool',
    saturatesAt: 90,
    waitMs: GROWING,
    utilization: [0.2, 0.4, 0.5, 0.6, 0.6, 0.6],
  });
  const full = model({
    index: 1,
    name: 'full',
    kind: 'eventloop',
    saturatesAt: 95,
    waitMs: GROWING,
    utilization: FILLING,
  });
  assert.equal(findFirst([behind, full], frame())?.model.name, 'full');
});

test('rule 7: how far a queue was driven is seen near its limit, not where overload lost most of the requests', () => {
  const overrun = model({
    index: 0,
    name: 'threadpool',
    kind: 'threadpool',
    saturatesAt: 60,
    waitMs: GROWING,
    utilization: [0.3, 0.7, 0.97, 1, 0.3, 0],
  });
  assert.equal(findFirst([overrun], frame())?.model.name, 'threadpool');
});

test('rule 7: near ties are named with the first', () => {
  const a = model({
    index: 0,
    name: 'a',
    kind: 'pool',
    saturatesAt: 90,
    waitMs: GROWING,
    utilization: FILLING,
  });
  const b = model({
    index: 1,
    name: 'b',
    kind: 'pool',
    saturatesAt: 95,
    waitMs: GROWING,
    utilization: FILLING,
  });
  assert.deepEqual(
    findFirst([a, b], frame())?.nearTies.map((m) => m.name),
    ['b'],
  );
});

test('rule 7b: of two near ones the inner wins, when its waits are what the outer hold grew by', () => {
  const pool = model({
    index: 0,
    name: 'pool',
    kind: 'pool',
    saturatesAt: 90,
    waitMs: GROWING,
    utilization: FILLING,
    holdMs: [10, 10, 11, 15, 50, 90],
    nestedMs: { 1: [0, 0, 1, 5, 40, 80] },
  });
  const lock = model({
    index: 1,
    name: 'lock',
    kind: 'lock',
    saturatesAt: 96,
    waitMs: [0, 0, 1, 5, 40, 80],
    utilization: FILLING,
  });
  const first = findFirst([pool, lock], frame());
  assert.equal(first?.model.name, 'lock');
  assert.equal(first?.rule, '7b');
  assert.deepEqual(
    first?.nearTies.map((m) => m.name),
    ['pool'],
  );
});

test('rule 7a: a queue full far below its own R was stretched; the waits inside its hold lead to the cause', () => {
  const pool = model({
    index: 0,
    name: 'pool',
    kind: 'pool',
    saturatesAt: 300,
    waitMs: GROWING,
    utilization: FILLING,
    holdMs: [3, 3, 4, 6, 10, 10],
    nestedMs: { 1: [0, 0, 1, 3, 7, 7] },
  });
  const gate = model({ index: 1, name: 'connect', kind: 'connection', saturatesAt: null, waitMs: GROWING });
  const first = findFirst([pool, gate], frame());
  assert.equal(first?.model.name, 'connect');
  assert.equal(first?.rule, '7a');
  assert.ok(first.rate <= 100, `${first.rate}`);
});

test('rule 7: a lock filled by waits for the loop inside it: the loop is the cause, at the rate they give together', () => {
  const lock = model({
    index: 0,
    name: 'lock',
    kind: 'lock',
    saturatesAt: 300,
    waitMs: GROWING,
    utilization: FILLING,
    holdMs: [3, 3, 4, 6, 10, 10],
    nestedMs: { 1: [0, 0, 1, 3, 7, 7] },
  });
  const loop = model({
    index: 1,
    name: 'eventloop',
    kind: 'eventloop',
    saturatesAt: 140,
    waitMs: [0, 0.1, 0.5, 1, 3, 5],
    utilization: [0.15, 0.3, 0.4, 0.6, 0.7, 0.8],
  });
  const first = findFirst([loop, lock], frame());
  assert.equal(first?.model.name, 'eventloop');
  assert.equal(first?.rule, '7');
});

test('rule 7a: a full queue that is busy with its own service is not stretched', () => {
  const lock = model({
    index: 0,
    name: 'lock',
    kind: 'lock',
    saturatesAt: 115,
    waitMs: GROWING,
    utilization: [0.2, 0.4, 0.6, 0.95, 1, 1],
    holdMs: [8, 8, 9, 9, 9, 9],
    nestedMs: { 1: [0, 0, 1, 1, 1, 1] },
  });
  const loop = model({
    index: 1,
    name: 'eventloop',
    kind: 'eventloop',
    saturatesAt: 300,
    waitMs: GROWING,
    utilization: [0.1, 0.1, 0.2, 0.3, 0.3, 0.4],
  });
  assert.equal(findFirst([lock, loop], frame())?.model.name, 'lock');
});

test('nothing grows: nothing is named', () => {
  const quiet = model({
    index: 0,
    name: 'a',
    kind: 'pool',
    saturatesAt: 90,
    waitMs: FLAT,
    utilization: FILLING,
  });
  assert.equal(findFirst([quiet], frame()), null);
  assert.equal(findFirst([], frame()), null);
});

test('rule 7: where limits lie together, a server that is never idle goes before a loop that only stretches holds', () => {
  const server = (u: readonly number[]) =>
    model({
      index: 0,
      name: 'risk',
      kind: 'downstream',
      saturatesAt: 104,
      waitMs: [1, 2, 5, 20, 200, 500],
      utilization: u,
    });
  const loop = model({
    index: 1,
    name: 'eventloop',
    kind: 'eventloop',
    saturatesAt: 140,
    waitMs: [0.2, 0.4, 0.8, 1.5, 4, 6],
    utilization: [0.15, 0.3, 0.45, 0.6, 0.75, 0.85],
  });
  const odds = (rate: number) => rate / (140 - rate + rate / 15);
  const lock = model({
    index: 2,
    name: 'lock',
    kind: 'lock',
    saturatesAt: 200,
    waitMs: [0, 1, 2, 5, 20, 50],
    utilization: [0.15, 0.3, 0.5, 0.8, 1, 1],
    nestedMs: { 1: RATES.map((rate) => 2.35 * odds(rate)) },
  });
  const found = (u: readonly number[]) => findFirst([server(u), loop, lock], frame());
  const busy = found([0.2, 0.4, 0.6, 0.8, 0.97, 1]);
  assert.equal(busy?.model.name, 'risk');
  assert.ok(busy.nearTies.some(({ name }) => name === 'eventloop'));
  assert.equal(found([0.2, 0.3, 0.5, 0.6, 0.7, 0.8])?.model.name, 'eventloop');
});

test('rule 7a: a small pool that is full for a while leads to no queue that is far from its own rate', () => {
  const door = (saturatesAt: number) =>
    model({ index: 0, name: 'door', kind: 'connection', saturatesAt, waitMs: [1, 1, 5, 10, 20, 30] });
  const pool = model({
    index: 1,
    name: 'pool',
    kind: 'pool',
    saturatesAt: 500,
    waitMs: GROWING,
    utilization: [0.2, 0.3, 0.97, 0.6, 0.7, 0.8],
    holdMs: [10, 10, 15, 20, 30, 40],
    nestedMs: { 0: [1, 1, 6, 11, 21, 31] },
  });
  assert.equal(findFirst([door(300), pool], frame()), null);
  assert.equal(findFirst([door(180), pool], frame())?.model.name, 'door');
});

test('rule 7a: of rebuilt calls a server seems as slow as the loop makes their callbacks: the loop is followed', () => {
  const server = model({
    index: 0,
    name: 'db',
    kind: 'downstream',
    saturatesAt: null,
    waitMs: [0, 0, 1, 3, 6, 9],
    holdMs: [3, 3, 3, 3, 3, 3],
  });
  const loop = model({
    index: 1,
    name: 'eventloop',
    kind: 'eventloop',
    saturatesAt: 170,
    waitMs: [0, 0, 1, 2, 4, 6],
    utilization: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
  });
  const pool = (rebuilt: boolean) =>
    model({
      index: 2,
      name: 'pool',
      kind: 'pool',
      saturatesAt: 600,
      capacity: 4,
      waitMs: GROWING,
      utilization: FILLING,
      holdMs: [10, 10, 13, 20, 30, 40],
      nestedMs: { 0: [0, 0, 2, 6, 12, 17], 1: [0, 0, 1, 4, 8, 12] },
      rebuilt,
    });
  assert.equal(findFirst([loop, pool(true), server], frame())?.model.name, 'eventloop');
  assert.equal(findFirst([loop, pool(false), server], frame())?.model.name, 'db');
});
