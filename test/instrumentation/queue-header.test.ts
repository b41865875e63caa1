import assert from 'node:assert/strict';
import { test } from 'node:test';
import { epochMsOf, queuedMs, trustQueueHeader } from '../../instrumentation/src/http/queue-header.ts';

const NOW_MS = 1_796_000_000_000;

test('the unit of a queue header is told from its magnitude', () => {
  const cases: [text: string, ms: number | undefined][] = [
    ['t=1796000000.250', NOW_MS + 250],
    ['1796000000.250', NOW_MS + 250],
    ['t=1796000000', NOW_MS],
    ['1796000000250', NOW_MS + 250],
    ['t=1796000000250', NOW_MS + 250],
    ['1796000000250000', NOW_MS + 250],
    ['1796000000250000000', NOW_MS + 250],
    [' t=1796000000.250 , t=1796000000.900', NOW_MS + 250],
    ['', undefined],
    ['t=', undefined],
    ['-1796000000', undefined],
    ['179600000', undefined],
    ['17960000002500000', undefined],
    ['1e9', undefined],
    ['Infinity', undefined],
    ['now', undefined],
  ];
  for (const [text, ms] of cases) {
    const found = epochMsOf(text);
    if (ms === undefined) assert.equal(found, undefined, text);
    else assert.ok(found !== undefined && Math.abs(found - ms) < 1e-3, `${text}: ${found}`);
  }
});

test('a queue header counts only where it is trusted, and plausible', () => {
  const headers = (ms: number) => ({ 'x-request-start': String(ms) });
  assert.equal(queuedMs(headers(NOW_MS - 100), NOW_MS), undefined);
  trustQueueHeader(true);
  try {
    assert.equal(queuedMs(headers(NOW_MS - 100), NOW_MS), 100);
    assert.equal(queuedMs({ 'x-queue-start': String(NOW_MS - 7) }, NOW_MS), 7);
    assert.equal(queuedMs({}, NOW_MS), undefined);
    assert.equal(queuedMs(headers(NOW_MS + 5), NOW_MS), undefined);
    assert.equal(queuedMs(headers(NOW_MS - 60_001), NOW_MS), undefined);
  } finally {
    trustQueueHeader(false);
  }
});
