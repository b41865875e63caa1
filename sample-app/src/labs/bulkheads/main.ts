/**
 * Lab: bulkheads around a 20 ms downstream call. What a pool of threads and a semaphore cost, what they protect,
 * and what an outer pool does that is larger than the inner one it feeds.
 *
 *   npm run lab:bulkheads [-- --short]
 */
import { type Running, say, sayWithTime } from '../../run/command.ts';
import { startLabService } from '../lab.ts';
import { type LabOptions, runLab } from '../options.ts';
import { compareBulkheads } from './matrix.ts';
import { CALL_MS, INNER, judgeNested, nestedPools, OUTER } from './nested.ts';
import { trySizes } from './sizes.ts';
import { slowDownstream } from './slow-downstream.ts';

async function lab(running: Running, { runs, short, seconds }: LabOptions): Promise<boolean> {
  const { url: downstream } = await startLabService(
    running,
    'downstream',
    new URL('downstream.ts', import.meta.url),
    [],
  );
  let sound = true;
  if (!short) {
    sayWithTime(
      'each bulkhead around a 20 ms call, 20 and 50 users that ask again at once (20 ms after a rejection)',
    );
    sound = await compareBulkheads(running, downstream, runs, seconds ?? undefined);
    say('');
  }
  sayWithTime('the downstream slows from 20 to 300 ms; clients give up after 250 ms');
  const isolated = await slowDownstream(running, downstream, runs, seconds ?? undefined);
  say('');
  sayWithTime(`${OUTER} slots of the service feed a semaphore of ${INNER} around a ${CALL_MS} ms call`);
  const nested = await nestedPools(running, downstream, runs, seconds ?? undefined);
  const named = await judgeNested(nested);
  say('');
  if (!short) {
    sayWithTime('how large the inner bulkhead must be');
    await trySizes(running, downstream, runs, nested.directory, CALL_MS, seconds ?? undefined);
  }
  return sound && isolated && named;
}

await runLab(
  'Bulkheads around a 20 ms downstream call: what they cost, what they protect, and nested pools of the wrong order.',
  lab,
);
