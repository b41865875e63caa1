import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  ATTR_HOLD_DURATION_NS,
  ATTR_LOCK_KEY,
  ATTR_RESOURCE_CAPACITY,
  ATTR_SEGMENT,
} from '@waitfall/instrumentation/conventions';
import {
  attributes,
  endUnixNano,
  parentIdText,
  type SpanTable,
  spanIdText,
  startUnixNano,
} from '../../analyzer/src/model/span-table.ts';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { exportSpans, toInput, writeOtlp } from './export/index.ts';
import { threshold } from './export/sample.ts';
import { FULL_EXPORT } from './export/types.ts';
import { blueprint } from './generate.ts';
import { planLoad } from './plan-load.ts';
import { simulate } from './simulate.ts';

const run = simulate(planLoad(blueprint(4, { shape: 'replicas' }), 150, 300, 'rising'), {
  record: true,
  stopAtEnd: false,
});

function rows(table: SpanTable): string[] {
  return Array.from({ length: table.length }, (_, row) =>
    JSON.stringify([
      table.traceIds[table.trace[row]],
      spanIdText(table, row),
      parentIdText(table, row),
      table.strings.text(table.name[row]),
      table.kind[row],
      table.status[row],
      String(startUnixNano(table, row)),
      String(endUnixNano(table, row)),
      table.resources[table.resource[row]].instance,
      table.strings.text(table.traceState[row]),
      [...attributes(table, row)].map(([key, value]) => [key, Number(value) || value]),
      (table.links.get(row) ?? []).map((link) => link.spanId),
    ]),
  ).sort();
}

test('reading the files gives what the table has', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'waitfall-sim-'));
  try {
    const options = { ...FULL_EXPORT, sampling: { kind: 'head', rate: 0.5 } } as const;
    await writeOtlp(run, options, directory);
    const read = await readInputs([directory]);
    const direct = toInput(run, options);
    assert.deepEqual(rows(read.table), rows(direct.table));
    assert.equal(read.loadPlans.length, 1);
    assert.equal(read.rejected.length, 0);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('every taken resource states its hold, also where nobody waited', () => {
  const spans = exportSpans(run, FULL_EXPORT);
  const of = (segment: string) => spans.filter((span) => span.attributes.get(ATTR_SEGMENT) === segment);
  for (const segment of ['pool_wait', 'lock_wait']) {
    assert.ok(of(segment).some((span) => span.startNs === span.endNs));
    for (const span of of(segment)) assert.ok((span.attributes.get(ATTR_HOLD_DURATION_NS) as number) > 0);
  }
  for (const span of of('lock_wait')) {
    assert.match(span.attributes.get(ATTR_LOCK_KEY) as string, /^[0-9a-f]{16}$/);
    if (span.endNs > span.startNs) assert.ok(span.blockedBy.length > 0, 'a contended row has a holder');
  }
});

test('an official export knows nothing of ours', () => {
  const spans = exportSpans(run, { ...FULL_EXPORT, spans: 'official', clock: 'milliseconds' });
  const ids = new Set(spans.map((span) => span.id));
  for (const span of spans) {
    assert.ok(![...span.attributes.keys()].some((key) => key.startsWith('waitfall.')), span.name);
    assert.ok(span.parent < 0 || ids.has(span.parent), `${span.name} has its parent`);
    assert.equal(span.startNs % 1e6, 0);
  }
  const known = new Set(spans.map((span) => span.name.replace(/ .*/, '')));
  for (const name of ['pg-pool.connect', 'pg.connect', 'pg.query:BEGIN', 'request'])
    assert.ok(known.has(name), name);
});

test('capacities can be left out, and sampling says its weight', () => {
  const bare = exportSpans(run, { ...FULL_EXPORT, capacities: false });
  assert.ok(bare.every((span) => !span.attributes.has(ATTR_RESOURCE_CAPACITY)));
  assert.match(threshold(0.1), /^e66666666666[67]/);
  assert.equal(threshold(0.5), '8');
  assert.equal(threshold(1), '0');
  const tail = { kind: 'tail', rate: 0.1, slowShare: 0.1, stated: true } as const;
  const kept = exportSpans(run, { ...FULL_EXPORT, sampling: tail });
  const weight = new Map(kept.map((span) => [span.trace, span.traceState === 'ot=th:0' ? 1 : 10]));
  const sum = [...weight.values()].reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum / run.requests.length - 1) < 0.35, `${sum} of ${run.requests.length}`);
});

test('an instrumented server continues the trace in a service of its own', () => {
  const calls = simulate(planLoad(blueprint(5), 60, 120, 'rising'), { record: true, stopAtEnd: false });
  const spans = exportSpans(calls, { ...FULL_EXPORT, remote: 'instrumented' });
  const clients = new Map(spans.filter((span) => span.kind === 3).map((span) => [span.id, span]));
  const servers = spans.filter((span) => span.process >= calls.scenario.replicas.length);
  assert.ok(servers.some((span) => span.kind === 2));
  for (const span of servers) {
    if (span.kind === 2) assert.equal(clients.get(span.parent)?.trace, span.trace);
    else assert.ok((span.attributes.get(ATTR_HOLD_DURATION_NS) as number) > 0);
  }
  const { table } = toInput(calls, { ...FULL_EXPORT, remote: 'instrumented' });
  assert.ok(table.resources.some((resource) => resource.service === 'risk-api'));
});

test('lost batches take whole runs of spans', () => {
  const all = exportSpans(run, FULL_EXPORT).length;
  const left = exportSpans(run, { ...FULL_EXPORT, lost: 0.1 }).length;
  assert.ok(left < 0.98 * all && left > 0.75 * all, `${left} of ${all}`);
});
