import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { EPOCH_NS, Export } from '../infer/service.ts';

/** Steps of 10 s at 20/s, of which the export holds the requests from one time to another, every `nth` of them. */
function exportOf(fromSeconds: number, toSeconds: number, nth = 1) {
  const out = new Export();
  const at = (seconds: number) => String(EPOCH_NS + BigInt(seconds) * 1_000_000_000n);
  for (let i = 0; i < 600; i += nth) {
    const ms = i * 50;
    if (ms >= fromSeconds * 1000 && ms < toSeconds * 1000) out.request(ms, ms + 10);
  }
  const steps = [0, 10, 20].map((second) => ({
    startUnixNano: at(second),
    endUnixNano: at(second + 10),
    arrivalsPerSecond: 20,
  }));
  return analyze(out.plan({ steps }).input());
}

test('an export that ends before the load plan is cut off, not sampled', () => {
  const { sampling, windows, notes } = exportOf(0, 15);
  assert.equal(sampling.kind, 'none');
  assert.equal(windows.length, 2);
  assert.ok(Math.abs(windows[1].receivedPerSecond - 20) < 1, `${windows[1].receivedPerSecond}`);
  assert.match(notes.map((note) => note.text).join('\n'), /ends 15\.\d s before the load plan/);
});

test('an export that begins after the load plan likewise', () => {
  const { sampling, windows, notes } = exportOf(12, 30);
  assert.equal(sampling.kind, 'none');
  assert.equal(windows.length, 2);
  assert.match(notes.map((note) => note.text).join('\n'), /begins 12\.0 s after the load plan/);
});

test('a whole export has no such note, and one with every third request is sampled', () => {
  assert.deepEqual(exportOf(0, 30).notes, []);
  assert.notEqual(exportOf(0, 30, 3).sampling.kind, 'none');
});

test('a sampled export that is cut off besides is both', () => {
  const { sampling, windows, notes } = exportOf(0, 20, 3);
  assert.equal(sampling.kind, 'thinned');
  assert.ok(Math.abs((sampling.keptShare ?? 0) - 1 / 3) < 0.02);
  assert.equal(windows.length, 2);
  assert.match(notes.map((note) => note.text).join('\n'), /ends/);
});

test('requests that a generator with few connections sent after their step are no sampling', () => {
  const out = new Export();
  const at = (seconds: number) => String(EPOCH_NS + BigInt(seconds) * 1_000_000_000n);
  // Planned 100 and 400; the service takes 25/s of the second step, whose rest the generator sends when it can.
  for (let i = 0; i < 100; i++) out.request(i * 100, i * 100 + 10);
  for (let i = 0; i < 400; i++) out.request(10_000 + i * 40, 10_000 + i * 40 + 200);
  const steps = [10, 40].map((arrivalsPerSecond, i) => ({
    startUnixNano: at(10 * i),
    endUnixNano: at(10 * i + 10),
    arrivalsPerSecond,
  }));
  const { sampling, windows } = analyze(out.plan({ steps }).input());
  assert.equal(sampling.kind, 'none');
  assert.ok(Math.abs(windows[1].receivedPerSecond - 25) < 1, `${windows[1].receivedPerSecond}`);
});
