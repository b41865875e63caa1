import { join } from 'node:path';
import { duration } from '../../load/format.ts';
import { waitfall } from '../../run/analyzer.ts';
import { type Running, say } from '../../run/command.ts';
import { runExperiment, startLabService } from '../lab.ts';
import { table } from '../table.ts';
import { meanVisit, readVisits } from '../visits.ts';

/** What the size is asked for: this rate with this mean wait at most. */
const RATE = 300;
const WAIT_MS = 5;
const SECONDS = 3;

/** Row of the bulkhead in the answer of `waitfall size`: … busy, now, wait now, the rule's range, Erlang C. */
const ANSWER = /^\s*bulkhead:price .*\s(\d+)[–-](\d+)\s+(\d+)\s*$/m;

/** Asks the analyzer how large the bulkhead must be, by rule of thumb and by Erlang C, and tries both sizes. */
export async function trySizes(
  running: Running,
  downstream: string,
  runs: string,
  measured: string,
  callMs: number,
  seconds: number = SECONDS,
): Promise<void> {
  const { output } = await waitfall(['size', measured, '--rate', String(RATE), '--wait', `${WAIT_MS}ms`]);
  const [, low, , erlang] = ANSWER.exec(output) ?? [];
  say(`for ${RATE}/s with a mean wait of ${WAIT_MS} ms:\n${output}`);
  if (!low || !erlang) {
    say('  the answer holds no size of the bulkhead, so none is tried');
    return;
  }
  const busy = Math.ceil((RATE * callMs) / 1000);
  const rows: string[][] = [];
  for (const [rule, size] of [
    ['rate x hold', busy],
    ['Erlang C', Number(erlang)],
    ['rule of thumb', Number(low)],
  ] as const) {
    const run = await runExperiment(
      running,
      {
        name: `bulkheads-size-${size}`,
        runs,
        load: {
          name: `size ${size}`,
          arrivals: 'poisson',
          steps: [{ phase: 'steady', arrivalsPerSecond: RATE, seconds }],
          requests: [
            { name: 'order', share: 1, method: 'GET', path: `/order?ms=${callMs}`, route: '/order' },
          ],
        },
        start: (traceFile) =>
          startLabService(
            running,
            'orders',
            new URL('server.ts', import.meta.url),
            [downstream, 'semaphore', String(size), '1000', '1000'],
            traceFile,
          ),
        warmUpPath: '/order?ms=1',
      },
      false,
    );
    const { meanWaitNs } = meanVisit(await readVisits(join(run.directory, 'traces.jsonl'), 'bulkhead:price'));
    const { p99 } = run.load.steps[0]!.latencyFromPlannedNs;
    rows.push([rule, String(size), duration(meanWaitNs), duration(p99), run.disturbed ? 'disturbed' : '']);
  }
  for (const line of table(['size by', 'permits', 'mean wait', 'p99', ''], rows)) say(line.trimEnd());
}
