import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { Export, type Step, steps } from '../infer/service.ts';

const RISING: Step[] = [20, 40, 60, 80, 100, 120].map((perSecond) => ({ perSecond, seconds: 3 }));
const DB: [string, string][] = [
  ['db.system.name', 'postgresql'],
  ['db.namespace', 'signup'],
];
const sql = (text: string): [string, string][] => [...DB, ['db.query.text', text]];

interface Shape {
  readonly poolSize: number;
  readonly load?: Step[];
  /** So many come at a time. */
  readonly batch?: number;
  /** Statement times, ms: UPDATE takes the row lock where `locked`. */
  readonly updateMs: number;
  readonly insertMs: number;
  readonly locked: boolean;
  readonly cpuMs: number;
}

/** A transaction as the official packages show it: no wait, no hold and no lock is stated. */
function official({ poolSize, load = RISING, batch = 1, updateMs, insertMs, locked, cpuMs }: Shape): Input {
  const out = new Export();
  const { arrivalsMs, plan } = steps(load);
  for (const i of arrivalsMs.keys()) arrivalsMs[i] = arrivalsMs[i - (i % batch)];
  const free: number[] = Array(poolSize).fill(0);
  let lockFree = 0;
  for (const [i, at] of arrivalsMs.entries()) {
    const begin = at + cpuMs;
    const connected = Math.max(begin, free[i % poolSize]);
    const update = connected + 0.5;
    const granted = locked ? Math.max(update, lockFree) : update;
    const updated = granted + updateMs;
    const inserted = updated + insertMs;
    const committed = inserted + 0.5;
    lockFree = committed;
    free[i % poolSize] = committed;
    const request = out.request(at, committed + cpuMs);
    request.call('pg-pool.connect', 'db', begin, connected, DB);
    request.call('pg.query:BEGIN signup', 'db', connected, update, sql('BEGIN'));
    request.call(
      'pg.query:UPDATE signup',
      'db',
      update,
      updated,
      sql('UPDATE campaign SET stock = stock - 1 WHERE id = $1'),
    );
    request.call(
      'pg.query:INSERT signup',
      'db',
      updated,
      inserted,
      sql('INSERT INTO audit_log (id) VALUES ($1)'),
    );
    request.call('pg.query:COMMIT signup', 'db', inserted, committed, sql('COMMIT'));
  }
  return out.plan(plan).input();
}

test('a pool without stated holds: held from the end of the wait to COMMIT, capacity from what was held while others waited', () => {
  const { verdict, resources } = analyze(
    official({ poolSize: 2, updateMs: 10, insertMs: 10, locked: false, cpuMs: 0.2 }),
  );
  const pool = resources.find((row) => row.resource === 'pg-pool:signup');
  assert.equal(pool?.capacity, 2);
  assert.equal(pool?.capacityFrom, 'inferred');
  assert.ok(Math.abs(pool!.ownDemandNs! / 21e6 - 1) < 0.02, `${pool?.ownDemandNs}`);
  assert.equal(verdict.first?.resource, 'pg-pool:signup');
  assert.ok(Math.abs(verdict.kneePerSecond! / (2000 / 21) - 1) < 0.06, `${verdict.kneePerSecond}`);
  assert.match(verdict.confidence.reasons.join(), /rebuilt from official spans/);
});

test('a row lock nobody states: the UPDATE that slows down far more than other statements waited for its row', () => {
  const { verdict, resources } = analyze(
    official({ poolSize: 8, updateMs: 2, insertMs: 10, locked: true, cpuMs: 0.2 }),
  );
  assert.equal(verdict.first?.resource, 'lock:campaign');
  assert.deepEqual(verdict.chain.map((link) => link.resource).slice(0, 2), [
    'lock:campaign',
    'pg-pool:signup',
  ]);
  const lock = resources.find((row) => row.resource === 'lock:campaign');
  // Granted to COMMIT: 2 + 10 + 0.5 ms.
  assert.ok(Math.abs(lock!.ownDemandNs! / 12.5e6 - 1) < 0.1, `${lock?.ownDemandNs}`);
  assert.equal(lock?.holdComposition.find((part) => part.what === 'INSERT audit_log')?.movable, true);
});

test('a row lock that most wait for at the lowest rate already: what a statement costs is seen where nobody held the row', () => {
  const { verdict, resources } = analyze(
    official({
      poolSize: 8,
      load: [40, 60, 75, 90, 110].map((perSecond) => ({ perSecond, seconds: 4 })),
      batch: 3,
      updateMs: 2,
      insertMs: 10,
      locked: true,
      cpuMs: 0.2,
    }),
  );
  const lock = resources.find((row) => row.resource === 'lock:campaign');
  assert.equal(verdict.first?.resource, 'lock:campaign');
  assert.ok(Math.abs(lock!.ownDemandNs! / 12.5e6 - 1) < 0.1, `${lock?.ownDemandNs}`);
  assert.equal(lock?.capacity, 1);
});

test('one rate: nothing that only growth could show is rebuilt', () => {
  const out = new Export();
  for (let i = 0; i < 100; i++) {
    const at = i * 20;
    const request = out.request(at, at + 12);
    request.call('pg-pool.connect', 'db', at, at + 1, DB);
    request.call('pg.query:UPDATE signup', 'db', at + 1, at + 12, sql('UPDATE campaign SET a = 1'));
  }
  const { resources, verdict } = analyze(out.input());
  assert.equal(verdict.status, 'not-enough-load-variation');
  assert.equal(
    resources.some((row) => row.kind === 'lock'),
    false,
  );
});

test('too few requests to know what is usual: their time is unaccounted, not a wait for the event loop', () => {
  const out = new Export();
  for (const at of [0, 1000, 2000]) out.request(at, at + 40).call('GET /price', 'price', at + 10, at + 30);
  const { resources, requests } = buildReport(analyze(out.input()), {});
  assert.deepEqual(
    resources.map(({ resource }) => resource),
    ['price'],
  );
  assert.equal(requests.coverage, 0.5);
});

test('official spans: slots that nobody may wait for show by what is turned away before it calls anything', () => {
  const slots = 4;
  const heldMs = 40;
  const out = new Export();
  // Two by two, so that some are turned away before all slots are always in use; 100/s is what the slots take.
  const { arrivalsMs, plan } = steps(
    [20, 40, 60, 90, 120, 150].map((perSecond) => ({ perSecond, seconds: 4 })),
  );
  const freeMs = Array<number>(slots).fill(0);
  for (const [i, even] of arrivalsMs.entries()) {
    const at = arrivalsMs[i - (i % 2)] ?? even;
    const slot = freeMs.findIndex((until) => until <= at);
    if (slot < 0) {
      out.request(at, at + 0.3, { failed: true, status: 503 });
      continue;
    }
    freeMs[slot] = at + heldMs;
    out.request(at, at + heldMs).call('GET', 'risk', at + 1, at + heldMs - 1);
  }
  const { verdict } = analyze(out.plan(plan).input());
  assert.equal(verdict.first?.kind, 'admission');
  assert.ok(Math.abs(verdict.kneePerSecond! / 100 - 1) < 0.15, `${verdict.kneePerSecond}/s`);
  assert.ok(verdict.findings.some(({ id }) => id === 'loses-without-waiting'));
});
