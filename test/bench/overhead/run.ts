/**
 * What instrumentation costs, as CPU time per request against the same service without any:
 *
 *   npm run bench:overhead [-- --rounds 12 --requests 5000 --modes none,standalone]
 *
 * Every mode runs in a process of its own, all at the same time; each round drives them one after the other
 * in random order. A ratio is taken within a round, the median and its quartiles over the rounds: so other load
 * on the machine hits both sides. The exporter's work is inside the window. Before the rounds every service is driven
 * until it gets no cheaper; how many requests that took is printed. The package is measured as it is installed: built.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openDatabase } from '../../../sample-app/src/postgres/database.ts';
import { decodeRequest } from '../../instrumentation/support/otlp-decode.ts';
import { drive } from './load.ts';
import { MODES } from './modes.mjs';
import { CHUNK, Steadiness } from './steady.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '12' },
    requests: { type: 'string', default: '5000' },
    warm: { type: 'string', default: '60000' },
    modes: { type: 'string', default: MODES.join(',') },
  },
});
const rounds = Number(values.rounds);
const requests = Number(values.requests);
/** Nothing is driven longer than this to become steady. */
const maxWarm = Number(values.warm);
const modes = (values.modes ?? '').split(',');

interface Goal {
  readonly mode: string;
  readonly than: string;
  readonly ratio: number;
}

/** Route, share of the requests (slow ones take longer), and what its ratios should be. */
const ROUTES: readonly { path: string; share: number; goals: readonly Goal[] }[] = [
  {
    path: '/empty/',
    share: 1,
    goals: [
      { mode: 'standalone', than: 'none', ratio: 1.25 },
      { mode: 'official+waitfall', than: 'official', ratio: 1.05 },
      { mode: 'http+waitfall+otlp', than: 'official', ratio: 0.6 },
    ],
  },
  { path: '/slow/', share: 0.25, goals: [{ mode: 'standalone', than: 'none', ratio: 1.05 }] },
  { path: '/http/', share: 1, goals: [] },
];
/** Of what the official set adds, standalone should add no more. */
const SHARE_GOAL = 0.2;

interface Service {
  readonly mode: string;
  readonly child: ChildProcess;
  readonly port: number;
}

/** Takes what exporters send; keeps it only while spans are counted. */
function startCollector() {
  let kept: Buffer[] | undefined;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => {
      if (kept !== undefined) chunks.push(chunk);
    });
    request.on('end', () => {
      kept?.push(Buffer.concat(chunks));
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  return {
    server,
    /** @returns the export of what runs meanwhile. */
    async collect(run: () => Promise<unknown>): Promise<Buffer[]> {
      kept = [];
      await run();
      const bodies = kept;
      kept = undefined;
      return bodies;
    },
  };
}

const COUNTED = 400;

/** @returns spans and exported bytes of one request, on average. */
async function exportOf(service: Service, path: string): Promise<{ spans: number; bytes: number }> {
  await usage(service);
  const bodies = await collector.collect(async () => {
    await drive(service.port, path, COUNTED);
    await usage(service);
  });
  const spans = bodies.reduce((sum, body) => sum + decodeRequest(body).length, 0);
  return { spans: spans / COUNTED, bytes: bodies.reduce((sum, body) => sum + body.length, 0) / COUNTED };
}

async function startService(mode: string, endpoint: string, databaseUrl: string): Promise<Service> {
  const child = fork(fileURLToPath(new URL('service.mjs', import.meta.url)), [], {
    execArgv: [],
    env: {
      ...process.env,
      MODE: mode,
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      DATABASE_URL: databaseUrl,
      OTEL_SERVICE_NAME: mode,
    },
  });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { mode, child, port };
}

async function usage(service: Service): Promise<{ cpuUs: number; mainUs: number; rssBytes: number }> {
  const answer = once(service.child, 'message');
  service.child.send('usage');
  return (await answer)[0];
}

/** Drives all services until none gets cheaper. @returns what it took, in words. */
async function warm(path: string, share: number): Promise<string> {
  const chunk = Math.max(200, Math.round(CHUNK * share));
  const limit = maxWarm * share;
  const states = new Map(services.map((service) => [service, new Steadiness()]));
  const left = () => [...states].filter(([, state]) => !state.isReached && state.requests < limit);
  for (let some = left(); some.length > 0; some = left()) {
    for (const [service, state] of some) {
      const before = await usage(service);
      await drive(service.port, path, chunk);
      const after = await usage(service);
      state.add((after.cpuUs - before.cpuUs) / chunk, (after.mainUs - before.mainUs) / chunk, chunk);
    }
  }
  return [...states]
    .map(([{ mode }, state]) => `${mode} ${state.requests}${state.isReached ? '' : ' (not steady)'}`)
    .join(', ');
}

function quantile(sorted: readonly number[], q: number): number {
  const at = q * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (at - low);
}

function medianOf(
  list: readonly number[],
  map: (value: number, at: number) => number = (value) => value,
): number {
  return quantile(
    list.map(map).sort((a, b) => a - b),
    0.5,
  );
}

/** @returns the ratios within the rounds, in order. */
function ratiosOf(own: readonly number[], other: readonly number[]): number[] {
  return own.map((us, round) => us / other[round]).sort((a, b) => a - b);
}

const collector = startCollector();
await once(collector.server, 'listening');
const endpoint = `http://127.0.0.1:${(collector.server.address() as AddressInfo).port}`;
const database = await openDatabase();
const services: Service[] = [];
try {
  for (const mode of modes) services.push(await startService(mode, endpoint, database.url));
  for (const { path, share, goals } of ROUTES) {
    const count = Math.max(200, Math.round(requests * share));
    console.log(`\n${path}:id  steady after: ${await warm(path, share)}`);
    const cpuUs = new Map<string, number[]>(modes.map((mode) => [mode, []]));
    const mainUs = new Map<string, number[]>(modes.map((mode) => [mode, []]));
    for (let round = 0; round < rounds; round++) {
      for (const service of [...services].sort(() => Math.random() - 0.5)) {
        const before = await usage(service);
        await drive(service.port, path, count);
        const after = await usage(service);
        cpuUs.get(service.mode)!.push((after.cpuUs - before.cpuUs) / count);
        mainUs.get(service.mode)!.push((after.mainUs - before.mainUs) / count);
      }
    }
    const sent = new Map<string, { spans: number; bytes: number }>();
    for (const service of services) sent.set(service.mode, await exportOf(service, path));
    console.log(`${rounds} rounds of ${count} requests, CPU µs per request`);
    console.log(
      'mode               median µs  main thread  ratio to none   quartiles     added µs   share of official  spans  bytes',
    );
    const base = cpuUs.get('none') ?? [];
    const added = (mode: string) => cpuUs.has(mode) && medianOf(cpuUs.get(mode)!, (us, i) => us - base[i]);
    for (const mode of modes) {
      const own = cpuUs.get(mode)!;
      const ratios = ratiosOf(own, base);
      const official = added('official');
      const part = official === false || mode === 'none' ? undefined : Number(added(mode)) / official;
      const goal = mode === 'standalone' && part !== undefined ? ` (goal ${SHARE_GOAL * 100} %)` : '';
      console.log(
        `${mode.padEnd(18)} ${medianOf(own).toFixed(1).padStart(9)} ${medianOf(mainUs.get(mode)!).toFixed(1).padStart(12)} ` +
          `${quantile(ratios, 0.5).toFixed(3).padStart(14)}   ` +
          `${quantile(ratios, 0.25).toFixed(2)}-${quantile(ratios, 0.75).toFixed(2)} ` +
          `${Number(added(mode)).toFixed(1).padStart(14)}   ` +
          `${(part === undefined ? '' : `${(100 * part).toFixed(0)} %`).padStart(17)} ` +
          `${sent.get(mode)!.spans.toFixed(1).padStart(6)} ${sent.get(mode)!.bytes.toFixed(0).padStart(6)}${goal}`,
      );
    }
    for (const { mode, than, ratio } of goals) {
      const [own, other] = [cpuUs.get(mode), cpuUs.get(than)];
      if (own === undefined || other === undefined) continue;
      const ratios = ratiosOf(own, other);
      const [q1, q2, q3] = [0.25, 0.5, 0.75].map((q) => quantile(ratios, q));
      console.log(
        `${mode} / ${than}: ${q2.toFixed(3)} (${q1.toFixed(2)}-${q3.toFixed(2)}), ` +
          `goal ${ratio}: ${q2 <= ratio ? 'reached' : 'missed'}`,
      );
    }
  }
  for (const service of services) {
    const { rssBytes } = await usage(service);
    console.log(`${service.mode.padEnd(18)} ${(rssBytes / 1e6).toFixed(0)} MB resident`);
  }
} finally {
  for (const service of services) service.child.kill();
  collector.server.close();
  await database.close();
}
