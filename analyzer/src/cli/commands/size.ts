import { parseDuration } from '../../model/duration.ts';
import { errors } from '../errors.ts';
import { load } from '../load.ts';
import { type CommonFlags, textStyle } from '../options.ts';
import { write } from '../output.ts';
import { exitCode } from './report.ts';

export interface SizeFlags extends CommonFlags {
  readonly rate: string;
  readonly wait: string;
}

/** `waitfall size`: servers each queue needs at a rate of requests for a mean wait. @returns the exit code. */
export async function sizeCommand(inputs: readonly string[], flags: SizeFlags): Promise<number> {
  const requestsPerSecond = Number(/^(\d+(?:\.\d+)?)(?:\/s)?$/.exec(flags.rate)?.[1] ?? Number.NaN);
  if (!(requestsPerSecond > 0)) {
    throw errors.badOption('--rate', flags.rate, 'write requests per second, such as 120 or 120/s');
  }
  const meanWaitNs = parseDuration(flags.wait);
  if (meanWaitNs === null || meanWaitNs === 0) {
    throw errors.badOption('--wait', flags.wait, 'write a mean wait such as 5ms');
  }
  const analysis = await load(inputs, flags);
  const [{ sizeQueues }, { layOutSizes }, { renderText }] = await Promise.all([
    import('../../infer/queue-size.ts'),
    import('../../report/size.ts'),
    import('../../report/text.ts'),
  ]);
  const sizes = sizeQueues(analysis.resources, requestsPerSecond, meanWaitNs);
  await write(
    [renderText(layOutSizes(sizes, requestsPerSecond, meanWaitNs), textStyle(flags))],
    flags.output,
  );
  return exitCode(analysis, flags);
}
