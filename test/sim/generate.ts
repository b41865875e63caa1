import { demands } from './demand.ts';
import { drawService } from './draw-service.ts';
import { FAMILIES, type Family, SHAPES, type Shape, type Target } from './families.ts';
import { fitService, isTarget } from './fit-service.ts';
import { Random } from './random.ts';
import type { Scenario } from './scenario.ts';

export { FAMILIES, type Family, SHAPES, type Shape, type Target } from './families.ts';
export { type Coverage, planLoad } from './plan-load.ts';

/** A generated service, its load still to be planned around its knee. */
export interface Blueprint {
  readonly seed: number;
  readonly family: Family;
  readonly shape: Shape;
  readonly target: Target;
  readonly scenario: Scenario;
}

const SHAPE_WEIGHTS = [54, 15, 7, 4, 4, 4, 4, 3, 5];

/** @returns the service of a seed: the family goes round with the seed, everything else is drawn. */
export function blueprint(seed: number, wanted?: { family?: Family; shape?: Shape }): Blueprint {
  const random = new Random(seed, 101);
  const family = wanted?.family ?? FAMILIES[seed % FAMILIES.length];
  const targets = FAMILIES.filter((name) => name !== 'none') as Target[];
  const target = family === 'none' ? random.pick(targets) : family;
  const shape = wanted?.shape ?? SHAPES[random.weighted(SHAPE_WEIGHTS)];
  const tie = random.chance(0.1);
  for (let attempt = 0; attempt < 400; attempt++) {
    const scenario = fitService(drawService(seed, attempt, target, shape, tie));
    const ranked = demands(scenario).sort((a, b) => a.saturatesAtPerSecond - b.saturatesAtPerSecond);
    if (!isTarget(ranked[0], target)) continue;
    const margin = ranked[1].saturatesAtPerSecond / ranked[0].saturatesAtPerSecond;
    if (tie ? margin < 1.12 : margin > 1.15) return { seed, family, shape, target, scenario };
  }
  throw new Error(`seed ${seed}: no service found in which ${target} saturates first`);
}
