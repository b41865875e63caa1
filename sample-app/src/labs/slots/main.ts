/**
 * Lab: four slots and a wait of at most 250 ms. How an open and a closed load show, or hide, the same overload.
 *
 *   npm run lab:slots [-- --short]
 */
import { join } from 'node:path';
import { duration } from '../../load/format.ts';
import type { Children } from '../../run/children.ts';
import { say, sayWithTime } from '../../run/command.ts';
import {
  type ExpectedCount,
  judge,
  judgeCounts,
  type LabLoad,
  type LabRun,
  printVerdict,
  runExperiment,
  startLabService,
} from '../lab.ts';
import { type LabOptions, runLab } from '../options.ts';
import { table } from '../table.ts';
import { type MeanWait, readWaits } from '../waits.ts';

const SLOTS = 4;
const SECONDS = 5;
const RATE = 40;
const work = (ms: number) => [
  { name: `work ${ms} ms`, share: 1, method: 'GET', path: `/work?ms=${ms}`, route: '/work' },
];
const open = (name: string, ms: number, maxInFlight: number): LabLoad => ({
  name,
  model: 'open',
  arrivals: 'even',
  maxInFlight,
  steps: [{ phase: 'steady', arrivalsPerSecond: RATE, seconds: SECONDS }],
  requests: work(ms),
});

interface SlotsExperiment {
  readonly load: LabLoad;
  readonly says: string;
  readonly expected: (run: LabRun) => ExpectedCount[];
}

const EXPERIMENTS: readonly SlotsExperiment[] = [
  {
    load: open('open 20 ms', 20, 64),
    says: '40/s offered to 4 slots that can do 200/s: nobody waits',
    expected: ({ load: { steps } }) => [
      { what: 'served', actual: steps[0]!.succeeded, expected: RATE * SECONDS, tolerance: 0 },
    ],
  },
  {
    load: {
      name: 'closed 200 ms',
      model: 'closed',
      steps: [{ phase: 'steady', users: SLOTS, seconds: SECONDS }],
      requests: work(200),
    },
    says: '4 users that wait for each other: the service is full and nobody notices',
    expected: ({ load: { steps } }) => [
      { what: 'served', actual: steps[0]!.succeeded, expected: 100, tolerance: 2 },
      { what: 'rejected', actual: steps[0]!.rejected, expected: 0, tolerance: 0 },
    ],
  },
  {
    load: open('open 200 ms', 200, 64),
    says: '40/s offered to 4 slots that can do 20/s: half of it must go',
    expected: ({ load: { steps } }) => [
      { what: 'served', actual: steps[0]!.succeeded, expected: 104, tolerance: 4 },
      {
        what: 'rejected',
        actual: steps[0]!.rejected,
        expected: RATE * SECONDS - steps[0]!.succeeded,
        tolerance: 0,
      },
    ],
  },
  {
    load: open('starved', 200, 1),
    says: 'the same load from a generator with one virtual user: it measures itself',
    expected: ({ load: { steps } }) => [
      { what: 'started', actual: steps[0]!.started, expected: 23, tolerance: 2 },
      {
        what: 'dropped',
        actual: steps[0]!.dropped,
        expected: RATE * SECONDS - steps[0]!.started,
        tolerance: 0,
      },
    ],
  },
];

/** Rising load on the 200 ms work: 4 slots / 0.2 s = 20/s is the knee that the verdict must find. */
const RAMP: LabLoad = {
  name: 'ramp',
  steps: [8, 12, 16, 20, 26, 34].map((arrivalsPerSecond) => ({
    phase: 'ramp',
    arrivalsPerSecond,
    seconds: 3,
  })),
  requests: work(200),
};

const HEADER = [
  'experiment',
  'planned',
  'started',
  'dropped',
  'served',
  'goodput/s',
  'rejected',
  'rejected after',
  'p50',
  'p99',
  'queue (header)',
  'queue (spans)',
  'work (header)',
  'work (spans)',
];

function row({ load }: LabRun, waits: MeanWait): string[] {
  const step = load.steps[0]!;
  return [
    load.manifest.name,
    String(step.planned),
    String(step.started),
    String(step.dropped),
    String(step.succeeded),
    (step.succeeded / SECONDS).toFixed(1),
    String(step.rejected),
    duration(step.rejectedLatencyNs.p50),
    duration(step.latencyFromSentNs.p50),
    duration(step.latencyFromSentNs.p99),
    duration(step.serverQueueNs.mean),
    duration(waits.meanWaitNs),
    duration(step.serverWorkNs.mean),
    duration(waits.meanHoldNs),
  ];
}

/** The header rounds to 0.1 ms, and the hold ends with the response, a moment after the header was written. */
function agree(header: number | null, spans: number | null): boolean {
  if (header === null || spans === null) return header === spans;
  return Math.abs(header - spans) <= 2e6 + 0.03 * spans;
}

async function lab(children: Children, { runs, short }: LabOptions): Promise<boolean> {
  const start = (traceFile: string) =>
    startLabService(children, 'slots', new URL('server.ts', import.meta.url), [], traceFile);
  const rows: string[][] = [];
  let sound = true;
  for (const { load, says, expected } of EXPERIMENTS) {
    sayWithTime(`${load.name}: ${says}`);
    const run = await runExperiment(
      children,
      { name: `slots-${load.name.replaceAll(' ', '-')}`, runs, load, start },
      !short,
    );
    const waits = await readWaits(join(run.directory, 'traces.jsonl'), 'http.server');
    const step = run.load.steps[0]!;
    rows.push(row(run, waits));
    sound = judgeCounts(run, expected(run)) && sound;
    const same =
      agree(step.serverQueueNs.mean, waits.meanWaitNs) && agree(step.serverWorkNs.mean, waits.meanHoldNs);
    const detail = `${duration(waits.meanWaitNs)} and ${duration(waits.meanHoldNs)} from spans`;
    sound = judge(run, 'Server-Timing and spans agree on queue and work', same, detail) && sound;
  }
  say('');
  for (const line of table(HEADER, rows)) say(line);
  say(
    '\nClosed and open at 200 ms meet the same four slots. The closed load got 20/s and no rejections, because its',
  );
  say(
    'users offer no more than they get; the open one shows that as much again was turned away. Counting answers',
  );
  say('instead of successes, the overloaded service would look twice as fast.\n');
  sayWithTime('a rising load on the same service, for the verdict');
  const ramp = await runExperiment(children, { name: 'slots-ramp', runs, load: RAMP, start }, false);
  const report = await printVerdict(ramp);
  const first = report?.verdict.first?.resource;
  const detail = first ?? report?.verdict.status ?? 'no report';
  return judge(ramp, 'the verdict names the slots', first === 'http.server', detail) && sound;
}

await runLab(
  'Four slots and a wait of at most 250 ms: how an open and a closed load show, or hide, the same overload.',
  lab,
);
