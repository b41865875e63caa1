import type { QueueName, WhatIf } from '../infer/types.ts';
import { queueLabels } from '../model/queue-labels.ts';
import type { Report } from './types.ts';

type Named = Pick<QueueName, 'resource' | 'service'>;

/**
 * @returns the report for people: queues stand under their labels, so that no two are called alike
 * ({@link queueLabels}); statements name them so in any case.
 */
export function withLabels(report: Report): Report {
  const { resources, verdict } = report;
  const labels = queueLabels(resources.map(({ resource: name, service }) => ({ name, service })));
  if (labels.every((label, i) => label === resources[i].resource)) return report;
  const labelled = <T extends Named>(one: T): T => {
    const at = resources.findIndex((row) => row.resource === one.resource && row.service === one.service);
    return at < 0 ? one : { ...one, resource: labels[at] };
  };
  const next = (queue: WhatIf['next']) => queue && labelled(queue);
  const first = verdict.first && labelled(verdict.first);
  const acceptable = verdict.acceptable.map((name) => {
    if (name === verdict.first?.resource) return first!.resource;
    const at = resources.findIndex((row) => row.resource === name);
    return at < 0 ? name : labels[at];
  });
  return {
    ...report,
    resources: resources.map(labelled),
    verdict: {
      ...verdict,
      first,
      acceptable,
      chain: verdict.chain.map(labelled),
      next: next(verdict.next),
      whatIf: verdict.whatIf.map((one) => ({ ...one, next: next(one.next) })),
    },
  };
}
