import { RESOURCE_EVENT_LOOP, segment, withWait } from '@waitfall/instrumentation';

interface Rule {
  readonly minimumAge: number;
  readonly regions: readonly string[];
  readonly weight: number;
}

/** @returns the text of a rules document of about `kiB` KiB, the same for the same size. */
export function rulesDocument(kiB: number): string {
  const rules: object[] = [];
  for (let id = 0, length = 0; length < kiB * 1024; id++) {
    const rule = {
      id,
      name: `rule-${id}`,
      minimumAge: 10 + (id % 5),
      regions: [`r${id % 97}`, `r${id % 89}`, `r${id % 83}`],
      weight: ((id * 7919) % 1_000_000) / 1000,
      note: `added for tariff ${(id * 104_729) % 999_983}`,
    };
    rules.push(rule);
    length += JSON.stringify(rule).length + 1;
  }
  return JSON.stringify({ version: 1, rules });
}

/** What the rules look at. */
export interface Applicant {
  readonly age: number;
  readonly region: string;
}

/**
 * Lets at most one waiting function run in each turn of the event loop, first come first served.
 *
 * Without it, all requests that arrive in one turn parse their rules one after another, and the reply of the
 * database that somebody's row lock waits for stands behind them all.
 */
export class TurnQueue {
  readonly #waiting: (() => void)[] = [];
  #running = false;

  get length(): number {
    return this.#waiting.length;
  }

  /** @returns a promise that is fulfilled in a turn of its own. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#running) return;
      this.#running = true;
      setImmediate(() => this.#turn());
    });
  }

  #turn(): void {
    const resolve = this.#waiting.shift();
    if (resolve === undefined) {
      this.#running = false;
      return;
    }
    resolve();
    setImmediate(() => this.#turn());
  }
}

/** Decides who may sign up, by rules kept as one JSON document. */
export class Eligibility {
  readonly turns = new TurnQueue();
  readonly #text: string;
  readonly #cached: readonly Rule[] | null;

  constructor(kiB: number, cache: boolean) {
    this.#text = rulesDocument(kiB);
    this.#cached = cache ? this.#parse() : null;
  }

  #parse(): readonly Rule[] {
    return (JSON.parse(this.#text) as { rules: Rule[] }).rules;
  }

  /** @returns whether the applicant reaches the score that the rules ask for. */
  async allows(applicant: Applicant): Promise<boolean> {
    if (this.#cached) return accepts(this.#cached, applicant);
    await withWait(RESOURCE_EVENT_LOOP, () => this.turns.next(), {
      segment: 'eventloop_wait',
      capacity: 1,
      queueDepth: this.turns.length,
    });
    return segment('work', () => accepts(this.#parse(), applicant), 'eligibility rules');
  }
}

function accepts(rules: readonly Rule[], applicant: Applicant): boolean {
  let score = 0;
  for (const rule of rules) {
    if (applicant.age >= rule.minimumAge || rule.regions.includes(applicant.region)) score += rule.weight;
  }
  return score > 0;
}
