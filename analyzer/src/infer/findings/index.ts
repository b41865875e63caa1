import type { Facts, Inference } from '../facts.ts';
import type { Statement } from '../types.ts';
import {
  chosenWithoutWeight,
  disturbedSteps,
  holdsWithoutEnd,
  orphansLeftOut,
  sentNotReceived,
} from './accounting.ts';
import { costGrowsWithLoad, demandDrifts, retriesGrow } from './costs.ts';
import { widestFunctions } from './cpu.ts';
import { type Finding, statementsOf } from './finding.ts';
import { gaugeDisagrees } from './gauges.ts';
import { outerLargerThanInner } from './nesting.ts';
import {
  capacityChanged,
  capacityContradicts,
  closedLoop,
  hotInstance,
  losesWithoutWaiting,
  lowCoverage,
} from './shape.ts';
import { streamDominates } from './streams.ts';
import { holdsOutliveTimeout, waitsCensored } from './timeouts.ts';
import { wastedWork } from './waste.ts';

/** Hides what a finding is about, so that all stand in one list. */
const ask =
  <T>(finding: Finding<T>) =>
  (facts: Facts, inference: Inference): Statement[] =>
    statementsOf(finding, facts, inference);

/** Every lint, in the order they are printed. */
const FINDINGS = [
  ask(chosenWithoutWeight),
  ask(orphansLeftOut),
  ask(closedLoop),
  ask(losesWithoutWaiting),
  ask(hotInstance),
  ask(retriesGrow),
  ask(costGrowsWithLoad),
  ask(demandDrifts),
  ask(holdsOutliveTimeout),
  ask(waitsCensored),
  ask(outerLargerThanInner),
  ask(wastedWork),
  ask(widestFunctions),
  ask(capacityContradicts),
  ask(capacityChanged),
  ask(holdsWithoutEnd),
  ask(sentNotReceived),
  ask(gaugeDisagrees),
  ask(disturbedSteps),
  ask(lowCoverage),
  ask(streamDominates),
];

export function findingsOf(facts: Facts, inference: Inference): Statement[] {
  return FINDINGS.flatMap((check) => check(facts, inference));
}
