import type { QueueModel } from '../aggregate/queue-model.ts';
import type { Facts, Inference } from './facts.ts';
import { LEAST_MOVABLE, movableParts } from './movable.ts';
import type { WhatIf } from './types.ts';
import { predict } from './what-if.ts';

/** What-ifs asked for, else the two most useful for the first queue (the next to saturate without a verdict). */
export function whatIfs(facts: Facts, inference: Inference, asked: readonly string[]): WhatIf[] {
  const { first, knee, next } = inference;
  const present =
    first && knee ? { first: first.model, rate: first.rate, kneePerSecond: knee.perSecond } : null;
  const changes = asked.length > 0 ? asked : usefulChanges(first?.model ?? next);
  return changes.map((change) => predict(change, facts.models, facts.frame, present));
}

/** More servers where that is a setting; a shorter hold by what could be moved out, else half. */
function usefulChanges(model: QueueModel | null): string[] {
  if (model === null) return [];
  const changes: string[] = [];
  const settable = model.kind === 'pool' || model.kind === 'admission';
  if (settable && model.capacity !== null) {
    // What is set is the capacity of one process.
    const each = model.capacity / model.processes;
    changes.push(`${model.label} capacity ${Math.max(Math.ceil(each + 1), Math.round(2 * each))}`);
  }
  const { share } = movableParts(model);
  if (share > LEAST_MOVABLE) changes.push(`${model.label} hold x${Math.max(0.05, 1 - share).toFixed(2)}`);
  changes.push(`${model.label} hold x0.5`);
  if (changes.length < 2) changes.push(`${model.label} hold x0.25`);
  return changes.slice(0, 2);
}
