/**
 * What instrumentation costs, as CPU time per request against the same service without any:
 *
 *   npm run bench:overhead [-- --rounds 12 --requests 2000]
 *
 * Every mode runs in a process of its own, all at the same time; each round drives them one after the other
 * in random order. A ratio is taken within a round, the median and its quartiles over the rounds: so other load
 * on the machine hits both sides. The exporter's work is inside the window.
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

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '12' },
    requests: { type: 'string', default: '2000' },
    modes: { type: 'string', default: MODES.join(',') },
  },
});
const rounds = Number(values.rounds);
const requests = Number(values.requests);
const modes = (values.modes ?? '').split(',');

/** Route, share of the requests (slow ones take longer), and the goals of the ratio to `none`. */
const ROUTES = [
  { path: '/empty/', share: 1, goals: { standalone: 1.25 } },
  { path: '/slow/', share: 0.25, goals: { standalone: 1.05 } },
  { path: '/http/', share: 1, goals: {} },
] as const;

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
    execArgv: ['--conditions=waitfall-source'],
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

async function usage(service: Service): Promise<{ cpuUs: number; rssBytes: number }> {
  const answer = once(service.child, 'message');
  service.child.send('usage');
  return (await answer)[0];
}

function quantile(sorted: readonly number[], q: number): number {
  const at = q * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (at - low);
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
    // The compiler needs thousands of calls; without them the heavier mode looks heavier still.
    for (const service of services)
      await drive(service.port, path, Math.max(count, Math.round(4_000 * share)));
    const cpuUs = new Map<string, number[]>(modes.map((mode) => [mode, []]));
    for (let round = 0; round < rounds; round++) {
      for (const service of [...services].sort(() => Math.random() - 0.5)) {
        const before = await usage(service);
        await drive(service.port, path, count);
        const after = await usage(service);
        cpuUs.get(service.mode)!.push((after.cpuUs - before.cpuUs) / count);
      }
    }
    const sent = new Map<string, { spans: number; bytes: number }>();
    for (const service of services) sent.set(service.mode, await exportOf(service, path));
    console.log(`\n${path}:id  ${rounds} rounds of ${count} requests, CPU µs per request`);
    console.log(
      'mode               median µs   ratio to none   quartiles     added µs   share of official  spans  bytes',
    );
    const base = cpuUs.get('none') ?? [];
    const added = (mode: string) => {
      const own = cpuUs.get(mode);
      return (
        own &&
        quantile(
          own.map((value, i) => value - base[i]).sort((a, b) => a - b),
          0.5,
        )
      );
    };
    for (const mode of modes) {
      const own = cpuUs.get(mode)!;
      const ratios = own.map((value, i) => value / base[i]).sort((a, b) => a - b);
      const median = quantile(
        [...own].sort((a, b) => a - b),
        0.5,
      );
      const official = added('official');
      const share =
        official === undefined || mode === 'none' ? '' : `${((100 * added(mode)!) / official).toFixed(0)} %`;
      const goal = (goals as Record<string, number>)[mode];
      const judged =
        goal === undefined ? '' : `   goal ${goal}: ${quantile(ratios, 0.5) <= goal ? 'reached' : 'missed'}`;
      console.log(
        `${mode.padEnd(18)} ${median.toFixed(1).padStart(9)} ${quantile(ratios, 0.5).toFixed(3).padStart(15)}   ` +
          `${quantile(ratios, 0.25).toFixed(2)}-${quantile(ratios, 0.75).toFixed(2)} ` +
          `${added(mode)!.toFixed(1).padStart(14)}   ${share.padStart(17)} ` +
          `${sent.get(mode)!.spans.toFixed(1).padStart(6)} ${sent.get(mode)!.bytes.toFixed(0).padStart(6)}${judged}`,
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
