import { queueLabels } from '../../model/queue-labels.ts';
import type { Analysis } from '../analysis.ts';

/** A queue as a verdict names it. */
interface Named {
  readonly resource: string;
  readonly service: string;
}

/** @returns what people call a queue. */
export type NameOf = (queue: Named) => string;

/**
 * What queues are called in sentences about both runs: by name, and where either run has several of that name, with
 * the service ({@link queueLabels}).
 */
export function namesOfBoth(before: Analysis, after: Analysis): NameOf {
  const queues = new Map<string, { readonly name: string; readonly service: string }>();
  for (const { name, queue } of [...before.models, ...after.models])
    queues.set(keyOf(name, queue.service), { name, service: queue.service });
  const labels = queueLabels([...queues.values()]);
  const labelOf = new Map([...queues.keys()].map((key, i) => [key, labels[i]]));
  return ({ resource, service }) => labelOf.get(keyOf(resource, service)) ?? resource;
}

function keyOf(name: string, service: string): string {
  return JSON.stringify([name, service]);
}
