/**
 * Writes the runs that the documentation shows: `node --conditions=waitfall-source test/docs/make-example.ts`.
 *
 * A shop simulated by test/sim: an order locks the row of its product and, before the change, writes an audit record
 * while the row is locked. Small enough to be kept, so that every output in docs/ can be checked against it.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { writeOtlp } from '../sim/export/index.ts';
import { FULL_EXPORT } from '../sim/export/types.ts';
import { constant, lognormal } from '../sim/random.ts';
import type { Scenario, Step } from '../sim/scenario.ts';
import { simulate } from '../sim/simulate.ts';
import { bareScenario } from '../sim/small.ts';

const MS = 1e6;
const folder = fileURLToPath(new URL('../../docs/example', import.meta.url));

const statement = (
  verb: 'BEGIN' | 'SELECT' | 'INSERT' | 'UPDATE' | 'COMMIT',
  table: string,
  meanMs: number,
  lock?: number,
): Step => ({
  do: 'statement',
  verb,
  table,
  cost: lognormal(meanMs * MS, 0.4),
  ...(lock === undefined ? {} : { lock }),
});

/** @param audit where the audit record is written: while the row is locked, or after the commit. */
function shop(audit: 'transaction' | 'afterwards'): Scenario {
  const insert = statement('INSERT', 'audit', 16);
  const locked = [statement('UPDATE', 'stock', 1, 0), ...(audit === 'transaction' ? [insert] : [])];
  return bareScenario({
    seed: 7,
    service: 'shop',
    admission: { slots: 40, queue: 60, timeoutNs: 1000 * MS },
    cpu: {
      receive: constant(0.8 * MS),
      callback: constant(0.2 * MS),
      resume: constant(0.1 * MS),
      respond: constant(0.4 * MS),
    },
    servers: [{ address: 'db', port: 5432, kind: 'postgres', capacity: 60, slowdownPerCall: 0 }],
    pools: [
      {
        name: 'shop',
        kind: 'pg',
        size: 10,
        server: 0,
        acquireTimeoutNs: null,
        churn: 0,
        idleTimeoutNs: null,
        handshake: constant(8 * MS),
        handshakes: 4,
        handshakesStated: true,
      },
    ],
    locks: [{ relation: 'stock', capacity: 1, hotShare: 1, hotKeys: 1, coldKeys: 1 }],
    routes: [
      {
        name: 'POST /orders',
        weight: 3,
        steps: [
          {
            do: 'transaction',
            pool: 0,
            body: [statement('BEGIN', 'shop', 0.4), ...locked, statement('COMMIT', 'shop', 1)],
          },
          ...(audit === 'transaction' ? [] : [{ do: 'transaction' as const, pool: 0, body: [insert] }]),
        ],
      },
      {
        name: 'GET /orders/:id',
        weight: 1,
        steps: [{ do: 'transaction', pool: 0, body: [statement('SELECT', 'orders', 3)] }],
      },
    ],
    load: {
      arrivals: 'poisson',
      burst: 1,
      closed: null,
      steps: [
        { arrivalsPerSecond: 20, durationNs: 4e9, phase: 'ramp' },
        { arrivalsPerSecond: 40, durationNs: 4e9, phase: 'ramp' },
        { arrivalsPerSecond: 60, durationNs: 4e9, phase: 'ramp' },
        { arrivalsPerSecond: 90, durationNs: 4e9, phase: 'overload' },
      ],
    },
  });
}

for (const [name, audit] of [
  ['before', 'transaction'],
  ['after', 'afterwards'],
] as const) {
  const at = join(folder, name);
  rmSync(at, { recursive: true, force: true });
  await writeOtlp(
    simulate(shop(audit), { record: true, stopAtEnd: false }),
    { ...FULL_EXPORT, minSpanNs: MS },
    at,
  );
  const traces = join(at, 'traces.jsonl');
  writeFileSync(`${traces}.gz`, gzipSync(readFileSync(traces), { level: 9 }));
  rmSync(traces);
  writeFileSync(
    join(at, 'manifest.json'),
    `${JSON.stringify({ service: { audit }, simulated: true }, null, 2)}\n`,
  );
}
