/**
 * Does instrumentation keep anything? Drives a service with waits, timeouts, errors and clients that leave, and
 * looks at its heap after garbage collection:
 *
 *   npm run soak [-- 1000000]
 *
 * Fails when a hold or a lock stays open, or when the heap grows by more than a few bytes per request.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openDatabase } from '../../../sample-app/src/postgres/database.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const requests = Number(positionals[0] ?? 1_000_000);
if (!(requests >= 1_000))
  throw new RangeError(`soak: ${positionals[0]} is no number of requests from 1000 on`);
const SLICES = 10;
/** The compiler, caches and pools fill up in the first slices; after them nothing may grow. */
const WARM_SLICES = 3;
const CONNECTIONS = 32;
const MAX_BYTES_PER_REQUEST = 20;

interface State {
  heapUsed: number;
  rss: number;
  holds: number;
  locks: number;
  gate: Record<string, number>;
}

/** Sends requests over several connections; every 50th client leaves before its answer. */
async function drive(port: number, first: number, count: number): Promise<void> {
  let sent = 0;
  const worker = () =>
    new Promise<void>((resolve) => {
      const open = () => {
        if (sent >= count) return resolve();
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {});
        const next = () => {
          if (sent >= count) {
            socket.destroy();
            return;
          }
          const n = first + sent++;
          socket.write(`GET /${n % 3 === 0 ? 'read' : 'row'}/${n} HTTP/1.1\r\nHost: soak\r\n\r\n`);
          if (n % 50 === 0) setTimeout(() => socket.destroy(), 1);
        };
        socket.on('connect', next);
        socket.on('data', (chunk) => {
          if (chunk.includes('HTTP/1.1 ')) next();
        });
        socket.on('close', open);
      };
      open();
    });
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}

const database = await openDatabase();
const client = new pg.Client({ connectionString: database.url });
await client.connect();
await client.query('CREATE TABLE soak (id int PRIMARY KEY, n int NOT NULL)');
await client.query('INSERT INTO soak VALUES (0, 0), (1, 0), (2, 0)');
await client.end();
const service = fork(fileURLToPath(new URL('service.mjs', import.meta.url)), [], {
  execArgv: ['--conditions=waitfall-source', '--expose-gc'],
  env: { ...process.env, DATABASE_URL: database.url, WAITFALL_TRACE_FILE: '/dev/null' },
});
const [{ port }] = (await once(service, 'message')) as [{ port: number }];
const state = async (): Promise<State> => {
  const answer = once(service, 'message');
  service.send('state');
  return (await answer)[0];
};

const heaps: number[] = [];
let last: State | undefined;
const perSlice = Math.ceil(requests / SLICES);
try {
  console.log('requests   heap MB   resident MB   open holds   open locks   gate');
  for (let slice = 0; slice < SLICES; slice++) {
    await drive(port, slice * perSlice, perSlice);
    last = await state();
    heaps.push(last.heapUsed);
    console.log(
      `${String((slice + 1) * perSlice).padStart(8)} ${(last.heapUsed / 1e6).toFixed(2).padStart(9)} ` +
        `${(last.rss / 1e6).toFixed(0).padStart(13)} ${String(last.holds).padStart(12)} ` +
        `${String(last.locks).padStart(12)}   ${JSON.stringify(last.gate)}`,
    );
  }
} finally {
  service.kill();
  await database.close();
}

const slope = slopeOf(heaps.slice(WARM_SLICES)) / perSlice;
const leaked =
  (last?.holds ?? 0) + (last?.locks ?? 0) + (last?.gate['active'] ?? 0) + (last?.gate['waiting'] ?? 0);
console.log(
  `\nheap: ${slope.toFixed(2)} bytes per request after the first ${WARM_SLICES} slices; left open: ${leaked}`,
);
if (leaked > 0 || slope > MAX_BYTES_PER_REQUEST) {
  console.error(
    `the service keeps something: at most ${MAX_BYTES_PER_REQUEST} bytes per request and nothing open`,
  );
  process.exitCode = 1;
}

/** Least-squares slope per step. */
function slopeOf(ys: readonly number[]): number {
  const meanX = (ys.length - 1) / 2;
  const meanY = ys.reduce((sum, y) => sum + y, 0) / ys.length;
  let above = 0;
  let below = 0;
  for (const [x, y] of ys.entries()) {
    above += (x - meanX) * (y - meanY);
    below += (x - meanX) ** 2;
  }
  return above / below;
}
