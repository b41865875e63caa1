import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Verdict } from '../../../analyzer/src/infer/types.ts';
import { readInputs } from '../../../analyzer/src/read/index.ts';
import type { Session } from '../../../analyzer/src/tui/session.ts';
import type { Theme } from '../../../analyzer/src/tui/theme.ts';
import { goldenPlan, goldenTraces } from './golden-input.ts';
import { COLOR, MONO_ASCII, Reader, sessionOf } from './support.ts';

/** UPDATE_GOLDEN=1 writes the screens instead of comparing them: look at the difference before committing it. */
const UPDATE = process.env['UPDATE_GOLDEN'] === '1';

const directory = mkdtempSync(join(tmpdir(), 'waitfall-golden-'));
after(() => rmSync(directory, { recursive: true, force: true }));

/** The verdict is written down here: these are tests of the drawing, not of the inference. */
const VERDICT: Partial<Verdict> = {
  status: 'saturated',
  first: { kind: 'lock', resource: 'lock:campaign', service: 'signup', instance: null },
  kneePerSecond: 50,
  acceptable: ['lock:campaign'],
  chain: [{ kind: 'lock', resource: 'lock:campaign', service: 'signup', holdGrowthNs: null, share: null }],
  next: null,
  confidence: { level: 'medium', reasons: ['no other queue is recorded', '200 requests in 4 windows'] },
  evidence: [{ id: 'own-demand', text: 'own demand 20 ms a request, capacity 1 -> 50/s' }],
  ruledOut: [
    {
      id: 'ruled-out',
      resource: 'db',
      text: 'db: alone it saturates at 400/s',
      values: { saturatesAtPerSecond: 400 },
    },
    {
      id: 'ruled-out',
      resource: 'eventloop',
      text: 'eventloop: 900/s',
      values: { saturatesAtPerSecond: 900, utilization: 0.1 },
    },
  ],
  findings: [],
  whatIf: [
    {
      change: 'lock:campaign hold x0.5',
      kneePerSecond: { low: 90, high: 110 },
      next: null,
      text: 'lock:campaign hold x0.5: knee at about 90/s to 110/s',
    },
  ],
};

async function goldenSession(): Promise<Session> {
  writeFileSync(join(directory, 'traces.jsonl'), goldenTraces());
  writeFileSync(join(directory, 'load.json'), goldenPlan());
  const session = sessionOf(await readInputs([directory]), 'golden');
  return { ...session, report: { ...session.report, verdict: { ...session.report.verdict, ...VERDICT } } };
}

const SCREENS: readonly (readonly [name: string, keys: readonly string[], theme: Theme])[] = [
  ['verdict', [], COLOR],
  ['steps', ['2'], COLOR],
  ['queue', ['3', 'enter'], COLOR],
  ['traces', ['5'], COLOR],
  ['trace', ['5', '/', ...'trace:100000c7', 'enter', 'enter'], COLOR],
  ['blocker', ['b', 'b'], COLOR],
  ['verdict-ascii', [], MONO_ASCII],
];

for (const [columns, rows] of [
  [80, 24],
  [120, 40],
] as const) {
  test(`the screens at ${columns}x${rows} are those kept`, async () => {
    const session = await goldenSession();
    for (const [name, keys, theme] of SCREENS) {
      const reader = await new Reader(session, columns, rows, theme).type(...keys);
      const shown = `${reader.shown().join('\n')}\n`;
      const path = fileURLToPath(new URL(`./golden/${name}-${columns}x${rows}.txt`, import.meta.url));
      if (UPDATE) writeFileSync(path, shown);
      assert.ok(existsSync(path), `${path} is missing: UPDATE_GOLDEN=1 writes it`);
      assert.equal(shown, readFileSync(path, 'utf8'), `${name} at ${columns}x${rows}`);
    }
  });
}
