import type { Fragment } from '../../core/fragment.ts';
import { parsePlan } from './parse.ts';
import type { StatementPlan } from './plan.ts';
import { RecentValues } from './recent-values.ts';

const GENERATION = 1_000;

/** What is learned about one text while it runs. */
export interface CachedPlan extends StatementPlan {
  /** How long it takes by itself; texts that differ in their values only share it. */
  readonly timing: Timing;
  /** How its span is described, by database: a pool's connections share it. */
  descriptions: StatementDescription[];
}

/** How long statements of one shape take, ms. */
export interface Timing {
  /** From sending to reply, when nobody is in their way. */
  readonly uncontended: RecentValues;
  /** From the release they waited for to their reply. */
  readonly afterGrant: RecentValues;
  /** One was not delayed by whoever held its row: a query inside it comes first. */
  takesRowLast: boolean;
}

/** Name and attributes of a statement's span. */
export interface StatementDescription {
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly database: string | undefined;
  readonly name: string;
  readonly fixed: Fragment;
}

/** What is known by some text, two generations of a thousand: what is in use survives, and is never lost all at once. */
class Generations<T> {
  #young = new Map<string, T>();
  #old = new Map<string, T>();

  get(text: string, make: (text: string) => T): T {
    const young = this.#young.get(text);
    if (young !== undefined) return young;
    const value = this.#old.get(text) ?? make(text);
    if (this.#young.size >= GENERATION) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(text, value);
    return value;
  }
}

/** Plans by text; texts with inlined values do not push the others out. */
export class PlanCache {
  readonly #plans = new Generations<CachedPlan>();
  readonly #timings = new Generations<Timing>();
  readonly #make = (sql: string): CachedPlan => {
    const plan = parsePlan(sql);
    const timing = plan.locks.length === 0 ? UNTIMED : this.#timings.get(plan.shape ?? sql, untimed);
    return { ...plan, timing, descriptions: [] };
  };

  get(sql: string): CachedPlan {
    return this.#plans.get(sql, this.#make);
  }
}

function untimed(): Timing {
  return { uncontended: new RecentValues(), afterGrant: new RecentValues(), takesRowLast: false };
}

/** Of statements that lock nothing nobody asks. */
const UNTIMED: Timing = Object.freeze(untimed());
