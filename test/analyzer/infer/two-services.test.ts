import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { compareRuns } from '../../../analyzer/src/infer/compare/index.ts';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { withLabels } from '../../../analyzer/src/report/labels.ts';
import { textReport } from '../../../analyzer/src/report/render.ts';
import { buildSession } from '../../../analyzer/src/tui/build-session.ts';
import { notTheCause } from '../../../analyzer/src/tui/model/verdict.ts';
import { Export, steps } from './service.ts';

const WORK_MS = { order: 1, stock: 18 };

/** Each of two services says what its event loop does; that of the called one is full at 1000 / 18 a second. */
function twoLoops(workMs = WORK_MS) {
  const out = new Export();
  const { arrivalsMs, plan } = steps([15, 30, 45, 60, 80].map((perSecond) => ({ perSecond, seconds: 4 })));
  let freeMs = 0;
  for (const at of arrivalsMs) {
    const calledMs = at + workMs.order;
    const startMs = Math.max(calledMs, freeMs);
    freeMs = startMs + workMs.stock;
    const request = out.request(at, freeMs, { service: 'order' });
    request.work(at, calledMs);
    const call = request.call('GET', '10.0.0.7', calledMs, freeMs);
    request.loopOf('stock', request.served('stock', calledMs, freeMs, call), calledMs, startMs, freeMs);
  }
  return out.plan(plan).input();
}

test('queues of two services that have one name are told apart by the service', async () => {
  const analysis = analyze(twoLoops(), {
    whatIf: ['eventloop of order hold x0.5', 'eventloop of stock hold x0.5'],
  });
  const { verdict } = analysis;
  assert.deepEqual(
    { ...verdict.first, kind: undefined },
    { kind: undefined, resource: 'eventloop', service: 'stock', instance: null },
  );
  assert.equal(verdict.next?.service, 'order');
  const text = textReport(buildReport(analysis));
  assert.match(text, /^First saturating queue: eventloop of stock at/m);
  assert.match(text, /- eventloop of order: alone it saturates at/);
  const [order, stock] = verdict.whatIf;
  assert.ok(stock.kneePerSecond!.low > 1.3 * order.kneePerSecond!.low, `${stock.text}; ${order.text}`);
  const labelled = withLabels(buildReport(analysis));
  assert.deepEqual(labelled.verdict.acceptable, ['eventloop of stock']);
  const session = buildSession(analysis, labelled, 'two', {});
  assert.match(notTheCause(session)[0].long, /^event loop \(CPU\) of order lasts to/);
  assert.equal((await session.waits('eventloop of order', 5)).count, 0);
  assert.ok((await session.waits('eventloop of stock', 5)).count > 50);
});

test('a name that only one service has stands alone', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps([20, 40].map((perSecond) => ({ perSecond, seconds: 4 })));
  for (const at of arrivalsMs) out.request(at, at + 5).work(at, at + 5);
  assert.match(textReport(buildReport(analyze(out.plan(plan).input()))), /next: eventloop at about/);
});

test('a comparison tells them apart, too', () => {
  const before = analyze(twoLoops());
  const after = analyze(twoLoops({ order: 1, stock: 9 }));
  const record = compareRuns(before, after);
  assert.match(record.hypothesis[0].text, /^eventloop of stock saturates first and fills no other queue/);
  assert.equal(record.sameResource[0].at, 'eventloop of stock, whole run');
  assert.match(
    record.prediction.text,
    /^eventloop of stock hold x0\.500: predicted .* then eventloop of stock/,
  );
  const costs = record.unitCosts.filter(({ what }) => what.startsWith('event-loop time'));
  assert.deepEqual(
    costs.map(({ what, before: was, after: is }) => [what, was, is]),
    [
      ['event-loop time (CPU and pauses) of stock', 18e6, 9e6],
      ['event-loop time (CPU and pauses) of order', 1e6, 1e6],
    ],
  );
});
