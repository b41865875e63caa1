import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { segment } from '@waitfall/instrumentation';
import { type Recording, request, startRecording } from '../support/recording.ts';

/** A collection that is asked for takes all of this long, and a little of it is the asking. */
const BOUND_MS = 10;

let recording: Recording;
let collect: () => void;
const ballast: object[] = [];

before(() => {
  recording = startRecording({ official: false });
  setFlagsFromString('--expose-gc');
  collect = runInNewContext('gc') as () => void;
  // Enough live objects for a collection that lasts.
  for (let i = 0; i < 600_000; i++) ballast.push({ i, text: `object ${i}` });
});
after(() => recording.stop());
beforeEach(() => recording.clear());

/** @returns how long the collection took, by the clock of the code that asked for it. */
function timed(run: () => void): number {
  const startMs = performance.now();
  run();
  return performance.now() - startMs;
}

const total = (spans: { lengthMs: number }[]) => spans.reduce((sum, span) => sum + span.lengthMs, 0);

describe('pauses for garbage collection', () => {
  test('a collection inside work: the pause is part of the slice, as long as it was', async () => {
    let tookMs = 0;
    const { traceId } = await request(async () => {
      segment('work', () => {
        tookMs = timed(collect);
      });
    });
    await sleep(400);
    const pauses = recording.segment('runtime_pause');
    const [slice] = recording.segment('work');
    assert.ok(pauses.length > 0);
    for (const pause of pauses) {
      assert.equal(pause.traceId, traceId);
      assert.equal(pause.parentId, slice.spanId);
      assert.equal(pause.attributes['waitfall.resource'], 'gc');
      assert.equal(pause.attributes['waitfall.pause.cause'], 'gc');
      assert.ok(pause.startMs >= slice.startMs - 0.1 && pause.endMs <= slice.endMs + 0.1);
    }
    const pausedMs = total(pauses);
    assert.ok(pausedMs <= tookMs + 0.5, `${pausedMs} of ${tookMs} ms`);
    assert.ok(pausedMs >= tookMs - BOUND_MS - tookMs * 0.2, `${pausedMs} of ${tookMs} ms`);
  });

  test('every request that was open had the pause; one that was not had none', async () => {
    const { traceId: earlier } = await request(() => sleep(5));
    await sleep(20);
    const open = [request(() => sleep(60)), request(() => sleep(60))];
    await sleep(10);
    const tookMs = timed(collect);
    const traces = new Set((await Promise.all(open)).map(({ traceId }) => traceId));
    await sleep(400);
    const pauses = recording.segment('runtime_pause');
    assert.deepEqual(new Set(pauses.map((pause) => pause.traceId)), traces);
    assert.ok(!pauses.some((pause) => pause.traceId === earlier));
    const [first] = traces;
    const pausedMs = total(pauses.filter((pause) => pause.traceId === first));
    assert.ok(pausedMs >= tookMs * 0.8 - BOUND_MS && pausedMs <= tookMs + 0.5, `${pausedMs} of ${tookMs} ms`);
  });

  test('a quiet process has no pauses', async () => {
    await request(() => sleep(30));
    await sleep(300);
    assert.ok(total(recording.segment('runtime_pause')) < 30);
  });
});
