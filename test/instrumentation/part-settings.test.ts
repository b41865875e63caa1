import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingsOf } from '../../instrumentation/src/settings.ts';

test('what wraps Node itself, or costs, is off; what only looks is on', () => {
  const { outbound, pauses, metrics, threadPool, cpuProfile, recorder } = settingsOf({}, {});
  assert.deepEqual(
    { outbound, pauses, metrics, threadPool, cpuProfile, recorder },
    {
      outbound: true,
      pauses: true,
      metrics: true,
      threadPool: false,
      cpuProfile: false,
      recorder: undefined,
    },
  );
});

test('the recorder by its variables', () => {
  const { recorder } = settingsOf(
    {},
    {
      WAITFALL_RECORDER: '60s',
      WAITFALL_RECORDER_BYTES: '8MB',
      WAITFALL_RECORDER_P99: '250ms',
      WAITFALL_RECORDER_DIR: '/tmp/here',
    },
  );
  assert.deepEqual(recorder, { windowMs: 60_000, maxBytes: 8e6, p99Ms: 250, directory: '/tmp/here' });
});

test('durations with and without unit; what is none is off', () => {
  const windowOf = (text: string) => settingsOf({}, { WAITFALL_RECORDER: text }).recorder?.windowMs;
  assert.equal(windowOf('2m'), 120_000);
  assert.equal(windowOf('30'), 30_000);
  assert.equal(windowOf('500ms'), 500);
  assert.equal(windowOf('false'), undefined);
  assert.equal(windowOf('0'), undefined);
  assert.equal(windowOf('soon'), undefined);
});

test('the constructor wins', () => {
  const settings = settingsOf({ threadPool: true, outbound: false }, { WAITFALL_THREAD_POOL: 'false' });
  assert.equal(settings.threadPool, true);
  assert.equal(settings.outbound, false);
});
