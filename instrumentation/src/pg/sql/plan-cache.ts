import type { Fragment } from '../../core/fragment.ts';
import { parsePlan } from './parse.ts';
import type { StatementPlan } from './plan.ts';

const GENERATION = 1_000;

/** What is learned about one text while it runs. */
export interface CachedPlan extends StatementPlan {
  /** Typical time of the statement when nobody holds its rows, ms; null before the first one. */
  uncontendedMs: number | null;
  /** How its span is described, by database: a pool's connections share it. */
  descriptions: StatementDescription[];
}

/** Name and attributes of a statement's span. */
export interface StatementDescription {
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly database: string | undefined;
  readonly name: string;
  readonly fixed: Fragment;
}

/**
 * Plans by text, two generations of a thousand: texts in use survive, and texts with inlined values do not
 * push the others out all at once.
 */
export class PlanCache {
  #young = new Map<string, CachedPlan>();
  #old = new Map<string, CachedPlan>();

  get(sql: string): CachedPlan {
    const young = this.#young.get(sql);
    if (young !== undefined) return young;
    const plan = this.#old.get(sql) ?? { ...parsePlan(sql), uncontendedMs: null, descriptions: [] };
    if (this.#young.size >= GENERATION) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(sql, plan);
    return plan;
  }
}

/** Moves a running median towards a new value; steps are a tenth of the median, so outliers hardly count. */
export function learnUncontended(plan: CachedPlan, ms: number): void {
  if (plan.uncontendedMs === null) plan.uncontendedMs = ms;
  else plan.uncontendedMs += (ms > plan.uncontendedMs ? 0.1 : -0.1) * plan.uncontendedMs;
}
