import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { skipWithoutCollector as skip } from './support/binary.ts';
import { startCollector } from './support/collector.ts';
import { spansByTrace, subfolder, testFolder } from './support/spans-of.ts';
import { makeTraffic, send, spanCount } from './support/traffic.ts';

const traffic = makeTraffic({
  seed: 6,
  requests: 2000,
  startUnixNano: 1_790_000_000_000_000_000n,
  arrivalsPerSecond: 200,
});
const known = new Map(
  traffic.map((request) => [request.traceId, request.own.length + request.behind.length]),
);

test('a collector killed in the middle loses what it had not written, and nothing else', {
  skip,
}, async (t) => {
  const out = subfolder(testFolder(t), 'out');
  const first = await startCollector({ config: 'local.yaml', env: { WAITFALL_DIR: out } });
  t.after(() => first.kill());
  const before = await send(first.otlpHttp, traffic.slice(0, 700), 20);
  assert.equal(before.accepted, spanCount(traffic.slice(0, 700)));
  const whileKilled = send(first.otlpHttp, traffic.slice(700, 1500), 20);
  await new Promise((resolve) => setTimeout(resolve, 10));
  await first.kill();
  const during = await whileKilled;
  assert.equal(during.accepted + during.refused + during.unanswered, spanCount(traffic.slice(700, 1500)));
  assert.ok(during.unanswered > 0, 'the sender noticed');

  const second = await startCollector({ config: 'local.yaml', env: { WAITFALL_DIR: out } });
  t.after(() => second.kill());
  const after = await send(second.otlpHttp, traffic.slice(1500), 20);
  assert.equal(after.accepted, spanCount(traffic.slice(1500)));
  await second.stop();

  const input = await readInputs([out]);
  // A write that the kill cut short is one unreadable line at most, and it is named.
  assert.ok(input.rejected.length <= 1, JSON.stringify(input.rejected));
  const kept = spansByTrace(input);
  for (const [traceId, spans] of kept) assert.ok(spans <= known.get(traceId)!, traceId);
  const lost = before.accepted + during.accepted + after.accepted - input.table.length;
  // Taken but not written: the batch that was filling (2048 spans at most) and the one being written.
  assert.ok(lost >= 0 && lost <= 2 * 2048, `${lost} spans lost`);
  if (input.rejected.length === 0) {
    for (const { traceId } of traffic.slice(1500)) assert.equal(kept.get(traceId), known.get(traceId));
  }
});

test('a line torn by a crash costs no line after it, and is named', { skip }, async (t) => {
  const out = subfolder(testFolder(t), 'out');
  const file = join(out, 'traces.jsonl');
  const [first, second, third] = [traffic.slice(0, 200), traffic.slice(200, 400), traffic.slice(400, 600)];
  for (const part of [first, second, third]) {
    const collector = await startCollector({ config: 'local.yaml', env: { WAITFALL_DIR: out } });
    t.after(() => collector.kill());
    assert.equal((await send(collector.otlpHttp, part)).accepted, spanCount(part));
    await collector.stop();
    // As if the process had died in the middle of a write: half a line without its end.
    if (part === second) appendFileSync(file, readFileSync(file, 'utf8').split('\n')[0].slice(0, 5000));
  }
  const input = await readInputs([out]);
  assert.equal(input.rejected.length, 1, JSON.stringify(input.rejected));
  assert.equal(input.rejected[0].file, file);
  assert.ok((input.rejected[0].line ?? 0) > 2);
  const kept = spansByTrace(input);
  for (const { traceId } of [...first, ...second, ...third])
    assert.equal(kept.get(traceId), known.get(traceId));
});
