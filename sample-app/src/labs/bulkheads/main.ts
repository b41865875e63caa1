/**
 * Lab: bulkheads around a 20 ms downstream call. What a pool of threads and a semaphore cost, what they protect,
 * and what an outer pool does that is larger than the inner one it feeds.
 *
 *   npm run lab:bulkheads [-- --short]
 */
import type { Children } from '../../run/children.ts';
import { say, sayWithTime } from '../../run/command.ts';
import { judge, type LabRun, printVerdict, runExperiment, startLabService } from '../lab.ts';
import { type LabOptions, runLab } from '../options.ts';
import { compareBulkheads } from './matrix.ts';
import { trySizes } from './sizes.ts';
import { slowDownstream } from './slow-downstream.ts';

/** The nested pools: 100 slots of the service feed a semaphore of 20 around a call of 100 ms, which can do 200/s. */
const OUTER = 100;
const INNER = 20;
const CALL_MS = 100;
const RATES = [80, 120, 160, 200, 240];
const STEP_SECONDS = 2.5;

async function nestedPools(children: Children, downstream: string, runs: string): Promise<LabRun> {
  const args = [downstream, 'semaphore', String(INNER), '1000', String(OUTER)];
  return runExperiment(
    children,
    {
      name: 'bulkheads-nested',
      runs,
      load: {
        name: `outer ${OUTER} over inner ${INNER}`,
        steps: RATES.map((arrivalsPerSecond) => ({
          phase: 'ramp',
          arrivalsPerSecond,
          seconds: STEP_SECONDS,
        })),
        requests: [{ name: 'order', share: 1, method: 'GET', path: `/order?ms=${CALL_MS}`, route: '/order' }],
      },
      start: (traceFile) =>
        startLabService(children, 'orders', new URL('server.ts', import.meta.url), args, traceFile),
      warmUpPath: '/order?ms=1',
    },
    false,
  );
}

async function lab(children: Children, { runs, short }: LabOptions): Promise<boolean> {
  const { url: downstream } = await startLabService(
    children,
    'downstream',
    new URL('downstream.ts', import.meta.url),
    [],
  );
  let sound = true;
  if (!short) {
    sayWithTime(
      'each bulkhead around a 20 ms call, 20 and 50 users that ask again at once (20 ms after a rejection)',
    );
    sound = await compareBulkheads(children, downstream, runs);
    say('');
  }
  sayWithTime('the downstream slows from 20 to 300 ms; clients give up after 250 ms');
  await slowDownstream(children, downstream, runs);
  say('');
  sayWithTime(`${OUTER} slots of the service feed a semaphore of ${INNER} around a ${CALL_MS} ms call`);
  const nested = await nestedPools(children, downstream, runs);
  const report = await printVerdict(nested);
  // All calls pass the bulkhead, so what its size limits looks like a limit of the downstream as well.
  const names = report?.verdict.acceptable ?? [];
  const detail = `${report?.verdict.first?.resource ?? 'none'} first, as good: ${names.join(', ') || 'none'}`;
  const named = judge(
    nested,
    'the verdict names the inner bulkhead',
    names.includes('bulkhead:price'),
    detail,
  );
  say('');
  if (!short) {
    sayWithTime('how large the inner bulkhead must be');
    await trySizes(children, downstream, runs, nested.directory, CALL_MS);
  }
  return sound && named;
}

await runLab(
  'Bulkheads around a 20 ms downstream call: what they cost, what they protect, and nested pools of the wrong order.',
  lab,
);
