import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { wrapLimit, wrapQueue } from '@waitfall/instrumentation';
import pLimit from 'p-limit';
import PQueue from 'p-queue';
import { openSlots } from '../../../instrumentation/src/adapters/slot-wait.ts';
import { assertBetween, holdEndMs, holdMs, moment } from '../support/moments.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';
import { attribute, one } from './measured.ts';

let recording: Recording;

before(() => {
  recording = startRecording({ official: false });
});
after(() => recording.stop());
beforeEach(() => recording.clear());

type Run = (task: () => Promise<string>) => Promise<string>;

/** A task in a request of its own, which ends when the test says so. */
class Task {
  traceId = '';
  /** Around the call. */
  fromMs = 0;
  calledMs = 0;
  startedMs = 0;
  /** Its last line. */
  endingMs = 0;
  /** Whoever called it knows that it has ended. */
  toldMs = 0;
  letEnd: () => void = () => {};
  readonly started: Promise<void>;
  readonly done: Promise<void>;

  constructor(run: Run) {
    const mayEnd = new Promise<void>((resolve) => {
      this.letEnd = resolve;
    });
    let hasStarted: () => void = () => {};
    this.started = new Promise((resolve) => {
      hasStarted = resolve;
    });
    this.done = request(async () => {
      this.fromMs = moment();
      const asked = run(async () => {
        this.startedMs = moment();
        hasStarted();
        await mayEnd;
        this.endingMs = moment();
        return 'done';
      });
      this.calledMs = moment();
      assert.equal(await asked, 'done');
      this.toldMs = moment();
    }).then(({ traceId }) => {
      this.traceId = traceId;
    });
  }
}

const LIMITERS: Record<string, () => Run> = {
  'p-limit:images': () => wrapLimit(pLimit(2), 'images'),
  'p-queue:images': () => {
    const queue = wrapQueue(new PQueue({ concurrency: 2 }), 'images');
    return (task) => queue.add(task);
  },
};

for (const [resource, make] of Object.entries(LIMITERS)) {
  test(`${resource}: waits and runs begin and end with the tasks`, async () => {
    const run = make();
    const tasks = [0, 1, 2, 3].map(() => new Task(run));
    await Promise.all([tasks[0].started, tasks[1].started]);
    await sleep(30);
    for (const [index, task] of tasks.entries()) {
      task.letEnd();
      await task.done;
      // The slot goes to whoever waits longest.
      if (index < 2) await tasks[index + 2].started;
    }
    assert.equal(openSlots(), 0);
    for (const [index, task] of tasks.entries()) {
      const wait = one(recording, 'pool_wait', task.traceId);
      assert.equal(attribute(wait, 'resource'), resource);
      assert.equal(attribute(wait, 'resource.capacity'), 2);
      assert.equal(attribute(wait, 'resource.in_use'), Math.min(index, 2));
      assert.equal(attribute(wait, 'resource.queue_depth'), Math.max(0, index - 2));
      if (index >= 2) {
        assertBetween(wait.startMs, task.fromMs, task.calledMs, 'the wait begins');
        assertBetween(wait.endMs, tasks[index - 2].endingMs, task.startedMs, 'the wait ends');
      } else assertBetween(wait.endMs, task.fromMs, task.startedMs, 'nothing to wait for');
      assertBetween(holdEndMs(wait), task.endingMs, task.toldMs, 'the task ends');
    }
  });

  test(`${resource}: a task's error is the caller's, and ends the hold`, async () => {
    const run = make();
    const { traceId } = await request(async () => {
      await assert.rejects(
        run(async () => {
          throw new RangeError('too large');
        }),
        { name: 'RangeError', message: 'too large' },
      );
    });
    assert.equal(attribute(one(recording, 'pool_wait', traceId), 'outcome'), 'acquired');
    assert.equal(openSlots(), 0);
  });
}

test('a wrapped limiter looks like its own: counts, concurrency, map, synchronous tasks, arguments', async () => {
  const [bare, wrapped] = [pLimit(2), wrapLimit(pLimit(2), 'same')];
  for (const limit of [bare, wrapped]) {
    assert.equal(await limit((a: number, b: number) => a + b, 2, 3), 5);
    assert.deepEqual(await limit.map(['a', 'b', 'c'], (item, index) => `${item}${index}`), [
      'a0',
      'b1',
      'c2',
    ]);
    assert.deepEqual(await limit.map({ length: 2 } as never, (_item, index) => index), [0, 1]);
    const tasks = [1, 2, 3].map((n) => limit(() => sleep(5, n)));
    assert.equal(limit.activeCount + limit.pendingCount, 3);
    limit.concurrency = 5;
    assert.equal(limit.concurrency, 5);
    assert.deepEqual(await Promise.all(tasks), [1, 2, 3]);
  }
  assert.deepEqual(Object.getOwnPropertyNames(wrapped).sort(), Object.getOwnPropertyNames(bare).sort());
});

test('a lazy thenable that a task returns is followed once', async () => {
  const lazy = () => {
    let started = 0;
    // biome-ignore lint/suspicious/noThenProperty: query builders are thenables that run when they are awaited
    return { then: (resolve: (value: number) => void) => resolve(++started) };
  };
  assert.equal(await wrapLimit(pLimit(1), 'lazy')(lazy as never), 1);
  assert.equal(await wrapQueue(new PQueue({ concurrency: 1 }), 'lazy').add(lazy as never), 1);
});

test('tasks of limit.map wait in the trace of the caller', async () => {
  const limit = wrapLimit(pLimit(1), 'map');
  const { traceId } = await request(() => limit.map([1, 2, 3], () => sleep(20)));
  const waits = recording.segment('pool_wait').filter((span) => span.traceId === traceId);
  assert.deepEqual(waits.map((wait) => attribute(wait, 'resource.queue_depth')).sort(), [0, 0, 1]);
  const [shortest, , longest] = waits.map((wait) => wait.lengthMs).sort((a, b) => a - b);
  assert.ok(longest > shortest + 15, `${longest} ms, ${shortest} ms`);
});

test('what is cleared or aborted while it waits is an aborted wait', async () => {
  const limit = wrapLimit(pLimit({ concurrency: 1, rejectOnClear: true }), 'cleared');
  const done = new AbortController();
  const untilDone = () => once(done.signal, 'abort');
  const first = limit(untilDone);
  const { traceId } = await request(async () => {
    const rejected = assert.rejects(
      limit(() => sleep(1)),
      { name: 'AbortError' },
    );
    await sleep(3);
    limit.clearQueue();
    await rejected;
  });
  assert.equal(attribute(one(recording, 'pool_wait', traceId), 'outcome'), 'aborted');

  const queue = wrapQueue(new PQueue({ concurrency: 1 }), 'cleared');
  const running = queue.add(untilDone);
  const abort = new AbortController();
  const aborted = await request(async () => {
    const rejected = assert.rejects(queue.add(() => sleep(1), { signal: abort.signal }));
    await sleep(3);
    abort.abort();
    await rejected;
  });
  const cleared = await request(async () => {
    const rejected = assert.rejects(
      queue.add(() => sleep(1)),
      { name: 'AbortError' },
    );
    await sleep(3);
    queue.clear();
    await rejected;
  });
  done.abort();
  await Promise.all([first, running]);
  for (const trace of [aborted, cleared]) {
    assert.equal(attribute(one(recording, 'pool_wait', trace.traceId), 'outcome'), 'aborted');
  }
  assert.equal(openSlots(), 0);
});

test('tasks that share a signal add one listener to it, and none stays', async () => {
  const queue = wrapQueue(new PQueue({ concurrency: 2 }), 'signals');
  const bare = new PQueue({ concurrency: 2 });
  const [own, theirs] = [new AbortController(), new AbortController()];
  const add = (to: PQueue, { signal }: AbortController) =>
    Promise.all(Array.from({ length: 30 }, () => to.add(() => sleep(1), { signal })));
  const [added, expected] = [add(queue, own), add(bare, theirs)];
  const listeners = (of: AbortController) => getEventListeners(of.signal, 'abort').length;
  assert.ok(listeners(own) <= listeners(theirs) + 1);
  await Promise.all([added, expected]);
  assert.ok(listeners(own) <= 1);
  assert.equal(openSlots(), 0);
});

test('a task that runs out of time gives its slot back while it still runs', async () => {
  const queue = wrapQueue(new PQueue({ concurrency: 1, timeout: 30 }), 'timeout');
  const { traceId } = await request(async () => {
    await assert.rejects(
      queue.add(() => sleep(200)),
      { name: 'TimeoutError' },
    );
  });
  const hold = holdMs(one(recording, 'pool_wait', traceId));
  assert.ok(hold < 150, `${hold} ms`);
});
