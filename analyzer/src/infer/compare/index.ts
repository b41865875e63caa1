import type { Analysis } from '../analysis.ts';
import { percent, perSecond, short } from '../numbers.ts';
import type { Statement } from '../types.ts';
import { checklist } from './checklist.ts';
import { manifestDifferences } from './manifest.ts';
import { type NameOf, namesOfBoth } from './names-of-both.ts';
import { checkPrediction } from './prediction.ts';
import {
  failedShare,
  overload,
  sameLoad,
  sameResource,
  sameThroughput,
  topWindow,
  unitCosts,
} from './side-by-side.ts';
import type { Comparison } from './types.ts';

export type { Comparison } from './types.ts';

/**
 * The evidence record of one change: what broke, which queue it was, what was changed, and what that did at the same
 * load, at the same resource, at the same throughput and in overload. Percentiles stand side by side; they are never
 * averaged or subtracted.
 */
export function compareRuns(before: Analysis, after: Analysis): Comparison {
  const differences = manifestDifferences(before.plan?.manifest ?? null, after.plan?.manifest ?? null);
  const atSameLoad = sameLoad(before, after);
  const nameOf = namesOfBoth(before, after);
  const prediction = checkPrediction(before, after, nameOf);
  return {
    phenomenon: phenomenon(before),
    evidence: before.verdict.evidence.filter((one) => one.id !== 'objective' && one.id !== 'chain-edge'),
    hypothesis: hypothesis(before, nameOf),
    change: { differences, text: changeText(differences) },
    sameLoad: atSameLoad,
    sameResource: sameResource(before, after, nameOf),
    sameThroughput: sameThroughput(before, after),
    overload: overload(before, after),
    unitCosts: unitCosts(before, after, nameOf),
    sideEffects: sideEffects(before, after, nameOf),
    prediction,
    checklist: checklist(before, after, differences, atSameLoad, prediction),
    conclusion: conclusion(before, after),
  };
}

function phenomenon(before: Analysis): Statement[] {
  const { verdict } = before;
  const objective = verdict.evidence.filter((one) => one.id === 'objective');
  const knee: Statement[] =
    verdict.kneePerSecond === null
      ? []
      : [
          {
            id: 'knee',
            text: `the service sustains ${perSecond(verdict.kneePerSecond)}; beyond it requests queue`,
            values: { kneePerSecond: verdict.kneePerSecond },
          },
        ];
  return [...objective, ...knee];
}

function hypothesis(before: Analysis, nameOf: NameOf): Statement[] {
  const { first, chain, evidence, status } = before.verdict;
  if (!first) return [{ id: 'no-hypothesis', text: `the before run names no queue: ${status}` }];
  const name = nameOf(first);
  return [
    {
      id: 'chain',
      resource: name,
      text:
        chain.length === 1
          ? `${name} saturates first and fills no other queue`
          : `${name} saturates first and fills the queues around it: ${chain.map(nameOf).join(' -> ')}`,
    },
    ...evidence.filter((one) => one.id === 'chain-edge'),
  ];
}

function changeText(differences: Comparison['change']['differences']): string {
  if (differences === null) return 'unknown: the runs have no manifests to compare';
  if (differences.length === 0) return 'the manifests do not differ: what changed is not recorded';
  const list = differences
    .map(({ path, before, after }) => `${path} ${before ?? 'absent'} -> ${after ?? 'absent'}`)
    .join(', ');
  return differences.length === 1
    ? list
    : `${differences.length} variables changed at once, so none of them alone explains the result: ${list}`;
}

function sideEffects(before: Analysis, after: Analysis, nameOf: NameOf): Statement[] {
  const out: Statement[] = [];
  const a = topWindow(before.windows);
  const b = topWindow(after.windows);
  if (a && b) {
    const x = failedShare(a);
    const y = failedShare(b);
    out.push({
      id: 'errors',
      text: `failed requests in the highest step: ${x === null ? 'unknown' : percent(x)} before, ${y === null ? 'unknown' : percent(y)} after`,
    });
  }
  for (const [name, run] of [
    ['before', before],
    ['after', after],
  ] as const) {
    for (const one of run.plan?.invariants ?? []) {
      if (one.holds === false)
        out.push({
          id: 'invariant',
          text: `invariant broken in the ${name} run: ${one.name}${one.detail ? ` (${one.detail})` : ''}`,
        });
    }
  }
  const was = before.verdict.first;
  const is = after.verdict.first;
  if (is !== null) {
    const name = nameOf(is);
    const same = was !== null && is.resource === was.resource && is.service === was.service;
    out.push({
      id: 'new-bottleneck',
      resource: name,
      text: same
        ? `the first saturating queue is still ${name}`
        : `the first saturating queue is now ${name} (before: ${was ? nameOf(was) : 'none'})`,
    });
  }
  const known = new Set(before.verdict.findings.map((one) => one.id));
  for (const finding of after.verdict.findings) {
    if (!known.has(finding.id)) out.push({ ...finding, text: `new in the after run: ${finding.text}` });
  }
  return out;
}

function conclusion(before: Analysis, after: Analysis): string {
  const x = before.verdict.kneePerSecond;
  const y = after.verdict.kneePerSecond;
  const top = after.frame.topRate;
  if (x === null) return 'the before run has no knee, so the change cannot be judged by it';
  if (y !== null) return `the knee moved from ${perSecond(x)} to ${perSecond(y)} (x ${short(y / x)})`;
  if (after.verdict.status === 'not-saturated')
    return `the knee moved from ${perSecond(x)} to beyond ${perSecond(top)} (more than x ${short(top / x)}): the after run did not saturate`;
  return `the knee was ${perSecond(x)}; the after run gives none (${after.verdict.status})`;
}
