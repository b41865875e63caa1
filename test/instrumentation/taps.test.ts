import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { withWait } from '@waitfall/instrumentation';
import { addTap, removeTap, type Tap, tapsOf } from '../../instrumentation/src/core/taps.ts';
import { type Recording, request, startRecording } from './support/recording.ts';

let recording: Recording;
before(() => {
  recording = startRecording({ official: false });
});
after(() => recording.stop());

test('a part that fails is switched off, and the request does not notice', async () => {
  const before = tapsOf.recorded.length;
  let seen = 0;
  addTap({
    recorded() {
      seen++;
      throw new Error('a part that is broken');
    },
  });
  await request(() => withWait('printer', () => new Promise((resolve) => setTimeout(resolve, 5))));
  await request(() => withWait('printer', () => {}));
  assert.equal(seen, 1);
  assert.equal(tapsOf.recorded.length, before);
  // The second is too short for a span, unless the process was not scheduled meanwhile.
  assert.ok(recording.segment('pool_wait').length >= 1);
});

test('a part that is removed sees nothing any more', async () => {
  let seen = 0;
  const tap: Tap = {
    recorded: () => {
      seen++;
    },
  };
  addTap(tap);
  removeTap(tap);
  await request(() => withWait('printer', () => {}));
  assert.equal(seen, 0);
});
