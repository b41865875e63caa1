import { readFileSync, statSync } from 'node:fs';
import type { AnalyzeOptions } from '../infer/analysis.ts';
import { errors } from './errors.ts';
import type { CommonFlags } from './options.ts';

/** A plan written by hand is far smaller; what is larger can only be the samples of a run. */
const MAX_PLAN_BYTES = 64 * 2 ** 20;

/**
 * Reads the load plan that `--load` names: a `load.json`, or the samples of a k6 run, compressed or not.
 * @returns plain data, so that it can be handed to a worker.
 */
export async function planOf({ load: path }: CommonFlags): Promise<Pick<AnalyzeOptions, 'loadPlan'>> {
  if (path === undefined) return {};
  const whole = wholeJson(path);
  if (whole !== undefined) return { loadPlan: whole };
  const { readInputs } = await import('../read/index.ts');
  const { loadPlans } = await readInputs([path]);
  if (loadPlans.length === 0) {
    throw errors.badFile(
      path,
      'is no load plan: that is JSON with "steps", or the file of k6 run --out json=FILE',
    );
  }
  const { manifest, steps } = loadPlans[0].content as { manifest?: unknown; steps: unknown };
  return { loadPlan: { manifest, steps } };
}

/** @returns undefined where the file is not one JSON document. */
function wholeJson(path: string): unknown {
  try {
    if (statSync(path).size > MAX_PLAN_BYTES) return undefined;
    return parsed(readFileSync(path, 'utf8'));
  } catch (error) {
    throw errors.unreadable(path, (error as Error).message);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
