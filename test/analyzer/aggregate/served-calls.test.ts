import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Gathering } from '../../../analyzer/src/aggregate/gathering.ts';
import { collectRequests } from '../../../analyzer/src/aggregate/requests.ts';
import { classify } from '../../../analyzer/src/classify/classify.ts';
import { gatherPart } from '../../../analyzer/src/infer/analysis.ts';
import { partition } from '../../../analyzer/src/partition/partition.ts';
import { repairTrees } from '../../../analyzer/src/tree/repair.ts';
import { type TestSpan, tableOf } from '../tree/spans.ts';

test('work in another service is that service, also where it was entered by a consumer or its server span is missing', () => {
  const spans: TestSpan[] = [
    { id: '1', kind: 'server', start: 0, end: 1000 },
    { id: '2', parent: '1', kind: 'consumer', service: 'mail', start: 100, end: 300 },
    { id: '3', parent: '2', service: 'mail', start: 120, end: 280 },
    {
      id: '4',
      parent: '1',
      kind: 'client',
      service: 'stock',
      attributes: { 'server.address': 'db' },
      start: 400,
      end: 900,
    },
    { id: '5', parent: '4', service: 'stock', start: 500, end: 600 },
  ];
  const table = tableOf(spans);
  const forest = repairTrees(table);
  const classes = classify(table, forest);
  const requests = collectRequests(forest, classes);
  const gathering = new Gathering(table);
  gatherPart({ forest, partition: partition(forest), classes, requests }, gathering, null);
  const { activity } = gathering;
  const calls = activity.calls.map((call) => `${activity.queues[call.queue].name} ${call.durationNs}`);
  assert.deepEqual(calls.sort(), ['db 500', 'mail 160', 'stock 100']);
});
