/**
 * Lab: four slots and a wait of at most 250 ms. How an open and a closed load show, or hide, the same overload.
 *
 *   npm run lab:slots [-- --short]
 */
import { join } from 'node:path';
import { duration } from '../../load/format.ts';
import type { StepResult } from '../../load/step-recorder.ts';
import { type Running, say, sayWithTime } from '../../run/command.ts';
import {
  type ExpectedCount,
  judge,
  judgeCounts,
  type LabLoad,
  printVerdict,
  runExperiment,
  startLabService,
} from '../lab.ts';
import { type LabOptions, runLab } from '../options.ts';
import { table } from '../table.ts';
import { type MeanVisit, meanVisit, readVisits, secondsOf, type Visit } from '../visits.ts';

const SLOTS = 4;
const WORK_MS = 200;
const SECONDS = 5;
const RAMP_SECONDS = 3;
const RATE = 40;
const work = (ms: number) => [
  { name: `work ${ms} ms`, share: 1, method: 'GET', path: `/work?ms=${ms}`, route: '/work' },
];
const open = (name: string, ms: number, maxInFlight: number, seconds: number): LabLoad => ({
  name,
  model: 'open',
  arrivals: 'even',
  maxInFlight,
  steps: [{ phase: 'steady', arrivalsPerSecond: RATE, seconds }],
  requests: work(ms),
});

interface SlotsExperiment {
  readonly load: LabLoad;
  readonly says: string;
  readonly expected: (step: StepResult) => ExpectedCount[];
}

/** What the slots let through while 200 ms of work fill them. */
const servedIn = (seconds: number) => (SLOTS * seconds * 1000) / WORK_MS;

function experiments(seconds: number): SlotsExperiment[] {
  const planned = RATE * seconds;
  return [
    {
      load: open('open 20 ms', 20, 64, seconds),
      says: '40/s offered to 4 slots that can do 200/s: nobody waits',
      expected: (step) => [{ what: 'served', actual: step.succeeded, expected: planned, tolerance: 0 }],
    },
    {
      load: {
        name: 'closed 200 ms',
        model: 'closed',
        steps: [{ phase: 'steady', users: SLOTS, seconds }],
        requests: work(WORK_MS),
      },
      says: '4 users that wait for each other: the service is full and nobody notices',
      expected: (step) => [
        { what: 'served', actual: step.succeeded, expected: servedIn(seconds), tolerance: 2 },
        { what: 'rejected', actual: step.rejected, expected: 0, tolerance: 0 },
      ],
    },
    {
      load: open('open 200 ms', WORK_MS, 64, seconds),
      says: '40/s offered to 4 slots that can do 20/s: half of it must go',
      expected: (step) => [
        // The last ones start before the end, and end after it.
        { what: 'served', actual: step.succeeded, expected: servedIn(seconds) + SLOTS, tolerance: 4 },
        { what: 'rejected', actual: step.rejected, expected: planned - step.succeeded, tolerance: 0 },
      ],
    },
    {
      load: open('starved', WORK_MS, 1, seconds),
      says: 'the same load from a generator with one virtual user: it measures itself',
      expected: (step) => [
        // It is free again a moment after 200 ms and takes the next arrival, 225 ms after the one before.
        { what: 'started', actual: step.started, expected: Math.ceil(seconds / 0.225), tolerance: 2 },
        { what: 'dropped', actual: step.dropped, expected: planned - step.started, tolerance: 0 },
      ],
    },
  ];
}

/** Rising load on the 200 ms work: 4 slots / 0.2 s = 20/s is the knee that the verdict must find. */
const ramp = (seconds: number): LabLoad => ({
  name: 'ramp',
  steps: [8, 12, 16, 20, 26, 34].map((arrivalsPerSecond) => ({ phase: 'ramp', arrivalsPerSecond, seconds })),
  requests: work(WORK_MS),
});

/** Received: seen by the service. Completed: answered, with or without the work. Goodput: answered as it should be. */
const COUNTS: readonly (readonly [name: string, of: (seen: Seen) => string])[] = [
  ['planned', ({ step }) => String(step.planned)],
  ['dropped', ({ step }) => String(step.dropped)],
  ['received', ({ visits }) => String(visits.length)],
  ['completed/s', ({ step }) => ((step.succeeded + step.rejected) / secondsOf(step)).toFixed(1)],
  ['goodput/s', ({ step }) => (step.succeeded / secondsOf(step)).toFixed(1)],
  ['served', ({ step }) => String(step.succeeded)],
  ['rejected', ({ step }) => String(step.rejected)],
  ['rejected after', ({ step }) => duration(step.rejectedLatencyNs.p50)],
  ['p50 of the served', ({ step }) => duration(step.latencyFromSentNs.p50)],
  ['p99 of the served', ({ step }) => duration(step.latencyFromSentNs.p99)],
  ['queue (header)', ({ step }) => duration(step.serverQueueNs.mean)],
  ['queue (spans)', ({ mean }) => duration(mean.meanWaitNs)],
  ['work (header)', ({ step }) => duration(step.serverWorkNs.mean)],
  ['work (spans)', ({ mean }) => duration(mean.meanHoldNs)],
];

/** One experiment, as the generator and as the service's spans saw it. */
interface Seen {
  readonly name: string;
  readonly step: StepResult;
  readonly visits: readonly Visit[];
  readonly mean: MeanVisit;
}

/** The header rounds to 0.1 ms, and the hold ends with the response, a moment after the header was written. */
function agree(header: number | null, spans: number | null): boolean {
  if (header === null || spans === null) return header === spans;
  return Math.abs(header - spans) <= 2e6 + 0.03 * spans;
}

async function lab(running: Running, { runs, short, seconds }: LabOptions): Promise<boolean> {
  const start = (traceFile: string) =>
    startLabService(running, 'slots', new URL('server.ts', import.meta.url), [], traceFile);
  const all: Seen[] = [];
  let sound = true;
  for (const { load, says, expected } of experiments(seconds ?? SECONDS)) {
    sayWithTime(`${load.name}: ${says}`);
    const run = await runExperiment(
      running,
      { name: `slots-${load.name.replaceAll(' ', '-')}`, runs, load, start },
      !short && seconds === null,
    );
    const visits = await readVisits(join(run.directory, 'traces.jsonl'), 'http.server');
    const waits = meanVisit(visits);
    const step = run.load.steps[0]!;
    all.push({ name: load.name, step, visits, mean: waits });
    const received = { what: 'received', actual: visits.length, expected: step.started, tolerance: 0 };
    sound = judgeCounts(run, [...expected(step), received]) && sound;
    const same =
      agree(step.serverQueueNs.mean, waits.meanWaitNs) && agree(step.serverWorkNs.mean, waits.meanHoldNs);
    const detail = `${duration(waits.meanWaitNs)} and ${duration(waits.meanHoldNs)} from spans`;
    sound = judge(run, 'Server-Timing and spans agree on queue and work', same, detail) && sound;
  }
  say('');
  const rows = COUNTS.map(([name, of]) => [name, ...all.map(of)]);
  for (const line of table(['', ...all.map(({ name }) => name)], rows)) say(line);
  say(
    '\nClosed and open at 200 ms meet the same four slots. The closed load got 20/s and no rejections, because its',
  );
  say(
    'users offer no more than they get; the open one shows that as much again was turned away. Counting answers',
  );
  say('instead of successes, the overloaded service would look twice as fast.\n');
  sayWithTime('a rising load on the same service, for the verdict');
  const load = ramp(seconds ?? RAMP_SECONDS);
  const rising = await runExperiment(running, { name: 'slots-ramp', runs, load, start }, false);
  const report = await printVerdict(rising);
  const first = report?.verdict.first?.resource;
  const detail = first ?? report?.verdict.status ?? 'no report';
  return judge(rising, 'the verdict names the slots', first === 'http.server', detail) && sound;
}

await runLab(
  'Four slots and a wait of at most 250 ms: how an open and a closed load show, or hide, the same overload.',
  lab,
);
