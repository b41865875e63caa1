/**
 * What the parts beside the database cost a call, CPU µs, spans included:
 *
 *   npm run bench:parts [-- --short]
 *
 * Batches with a part and without it alternate in one process; the median of the differences of neighbours counts, so that
 * a machine that others use does not.
 */
import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { disableParts, enableParts, makeClientSpans } from '../../instrumentation/src/parts.ts';
import { request, startRecording } from '../instrumentation/support/recording.ts';

const PAIRS = process.argv.includes('--short') ? 10 : 40;
const CALLS = 100;

const recording = startRecording({ official: false });
const crypto = createRequire(import.meta.url)('node:crypto') as typeof import('node:crypto');
const NOTHING = {
  outbound: false,
  pauses: false,
  threadPool: false,
  metrics: false,
  cpuProfile: false,
  recorder: undefined,
};
makeClientSpans({ http: true, undici: true });
const server = createServer((_request, response) => response.end('ok'));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

interface Part {
  readonly settings: Partial<typeof NOTHING>;
  call(): Promise<unknown>;
}

const PARTS: Record<string, Part> = {
  'http.get, its CLIENT span and socket': {
    settings: { outbound: true },
    call: () =>
      new Promise((resolve, reject) => {
        get(url, { agent }, (response) => response.resume().once('end', resolve)).once('error', reject);
      }),
  },
  'fetch, its CLIENT span and connection': {
    settings: { outbound: true },
    call: async () => (await fetch(url)).text(),
  },
  'crypto.randomBytes on a thread': {
    settings: { threadPool: true },
    call: () => new Promise((resolve) => crypto.randomBytes(16, resolve)),
  },
  'pauses, 1,000 objects': {
    settings: { pauses: true },
    call: async () => Array.from({ length: 1_000 }, (_, i) => ({ i, text: `${i}` })).length,
  },
};

/** @returns CPU µs of a call, of all threads of the process. */
async function batch({ settings, call }: Part, isOn: boolean): Promise<number> {
  if (isOn) enableParts({ ...NOTHING, ...settings });
  else disableParts();
  const before = process.cpuUsage();
  await request(async () => {
    for (let i = 0; i < CALLS; i++) await call();
  });
  const { user, system } = process.cpuUsage(before);
  recording.clear();
  return (user + system) / CALLS;
}

const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1];

console.log('CPU µs of a call                            without     more    ratio');
for (const [name, part] of Object.entries(PARTS)) {
  const without: number[] = [];
  const more: number[] = [];
  for (let warm = 0; warm < 3; warm++) for (const isOn of [true, false]) await batch(part, isOn);
  for (let pair = 0; pair < PAIRS; pair++) {
    const order = pair % 2 === 0 ? [false, true] : [true, false];
    const us: number[] = [];
    for (const isOn of order) us[isOn ? 1 : 0] = await batch(part, isOn);
    without.push(us[0]);
    more.push(us[1] - us[0]);
  }
  const base = median(without);
  const extra = median(more);
  const cells = [base.toFixed(1), extra.toFixed(1), (1 + extra / base).toFixed(2)];
  console.log(name.padEnd(42) + cells.map((cell) => cell.padStart(9)).join(''));
}
agent.destroy();
server.closeAllConnections();
server.close();
await recording.stop();
process.exit(0);
