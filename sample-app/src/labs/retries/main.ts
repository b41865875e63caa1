/**
 * Lab: retries. Clients that send again after a timeout turn a short overload into a lasting one.
 *
 *   npm run lab:retries [-- --short]
 */
import { join } from 'node:path';
import { duration } from '../../load/format.ts';
import { type Running, say, sayWithTime } from '../../run/command.ts';
import { judge, type LabLoad, type LabRun, printVerdict, runExperiment, startLabService } from '../lab.ts';
import { type LabOptions, runLab } from '../options.ts';
import { table } from '../table.ts';
import { completedPerSecond, readVisits, secondsOf, type Visit } from '../visits.ts';

/** Eight workers of 50 ms can do this much. */
const CAPACITY = 160;
const TIMEOUT_MS = 400;
const RATES = [80, 120, 140, 200];
/** A load that the service carried easily before. */
const AFTERWARDS = 100;
/** Attempts per request beyond the knee from which on retries feed the overload. */
const AMPLIFIED = 1.5;

function loadWith(name: string, attempts: number, stepSeconds: number): LabLoad {
  return {
    name,
    timeoutMs: TIMEOUT_MS,
    attempts,
    steps: [
      ...RATES.map((arrivalsPerSecond) => ({
        phase: arrivalsPerSecond > CAPACITY ? ('overload' as const) : ('ramp' as const),
        arrivalsPerSecond,
        seconds: stepSeconds,
      })),
      { phase: 'recovery', arrivalsPerSecond: AFTERWARDS, seconds: 2 * stepSeconds },
    ],
    requests: [{ name: 'work', share: 1, method: 'GET', path: '/work' }],
  };
}

/** Completed: worked off by the service, wanted or not. Goodput: answered while the client still waited. */
const HEADER = [
  'clients',
  'offered/s',
  'sent/s',
  'completed/s',
  'goodput/s',
  'served',
  'given up',
  'p50',
  'p99',
];

function rowsOf(name: string, { load }: LabRun, visits: readonly Visit[]): string[][] {
  return load.steps.map((step) => {
    const seconds = secondsOf(step);
    return [
      step.phase === 'recovery' ? `${name}, afterwards` : name,
      step.arrivalsPerSecond.toFixed(0),
      (step.attempts / seconds).toFixed(0),
      completedPerSecond(visits, step).toFixed(0),
      (step.succeeded / seconds).toFixed(0),
      `${((100 * step.succeeded) / step.planned).toFixed(0)} %`,
      String(step.timedOut),
      duration(step.latencyFromPlannedNs.p50),
      duration(step.latencyFromPlannedNs.p99),
    ];
  });
}

/** Attempts per request in the steps beyond the knee and after. */
function amplification({ load }: LabRun): number {
  const steps = load.steps.filter(({ phase }) => phase === 'overload' || phase === 'recovery');
  const attempts = steps.reduce((sum, step) => sum + step.attempts, 0);
  return attempts / steps.reduce((sum, step) => sum + step.started, 0);
}

async function lab(running: Running, { runs, short, seconds }: LabOptions): Promise<boolean> {
  const run = async (name: string, attempts: number) => {
    sayWithTime(`clients that ${attempts === 1 ? 'give up after one attempt' : `try ${attempts} times`}`);
    return runExperiment(
      running,
      {
        name: `retries-${attempts}`,
        runs,
        load: loadWith(name, attempts, seconds ?? (short ? 2 : 3)),
        start: (traceFile) =>
          startLabService(running, 'workers', new URL('server.ts', import.meta.url), [], traceFile),
      },
      false,
    );
  };
  const patient = await run('1 attempt', 1);
  const pushing = await run('3 attempts', 3);
  say('');
  const rows: string[][] = [];
  for (const [name, made] of [
    ['1 attempt', patient],
    ['3 attempts', pushing],
  ] as const) {
    const visits = await readVisits(join(made.directory, 'traces.jsonl'), 'workers');
    rows.push(...rowsOf(name, made, visits));
  }
  for (const line of table(HEADER, rows)) say(line);
  say('');
  const factor = amplification(pushing);
  const report = await printVerdict(pushing);
  const first = report?.verdict.first?.resource;
  const statements = [...(report?.verdict.findings ?? []), ...(report?.verdict.evidence ?? [])];
  const retries = statements.find(({ text }) => /\bretries\b/.test(text));
  const judgements = [
    judge(pushing, 'retries multiply the load beyond the knee', factor >= AMPLIFIED, `x${factor.toFixed(2)}`),
    judge(pushing, 'the verdict names the queue that retries feed', first === 'workers', first ?? 'none'),
    judge(pushing, 'the verdict names retries', retries !== undefined, retries?.text ?? 'not named'),
  ];
  return judgements.every((right) => right);
}

await runLab('Clients that send again after a timeout turn a short overload into a lasting one.', lab);
