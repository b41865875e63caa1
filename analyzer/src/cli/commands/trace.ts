import type { Analysis } from '../../infer/analysis.ts';
import { errors } from '../errors.ts';
import { load } from '../load.ts';
import { type CommonFlags, textStyle } from '../options.ts';
import { write } from '../output.ts';
import { exitCode } from './report.ts';

/** `waitfall trace ID`: every tree of one trace as a waterfall and as a partition strip. @returns the exit code. */
export async function traceCommand(
  id: string,
  inputs: readonly string[],
  flags: CommonFlags,
): Promise<number> {
  const analysis = await load(inputs, flags, 'all');
  const trace = findTrace(analysis, id);
  const { renderTrace } = await import('../../report/trace/render.ts');
  await write([renderTrace(analysis, trace, textStyle(flags))], flags.output);
  return exitCode(analysis, flags);
}

/** @returns the index of the only trace whose id is, or starts with, the given text. */
function findTrace({ forest }: Analysis, id: string): number {
  const wanted = id.trim().toLowerCase();
  const { traceIds } = forest.table;
  // A short hex id stands for the 128-bit one with a zero high half.
  const exact = traceIds.findIndex((each) => each === id || each === wanted.padStart(32, '0'));
  if (exact >= 0) return exact;
  const close = traceIds.filter((each) => each.toLowerCase().startsWith(wanted));
  if (wanted === '' || close.length !== 1) throw errors.noTrace(id, wanted === '' ? [] : close);
  return traceIds.indexOf(close[0]);
}
