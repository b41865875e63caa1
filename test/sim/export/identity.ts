import type { AttributeValue } from '../../../analyzer/src/model/attributes.ts';
import { Random } from '../random.ts';
import type { Scenario } from '../scenario.ts';

const word = (random: Random): string =>
  random
    .below(2 ** 32)
    .toString(16)
    .padStart(8, '0');

/** Ids of one run, each made once. */
export class Identities {
  readonly #seed: number;
  readonly #traces: string[] = [];
  readonly #spans: string[] = [];

  constructor(seed: number) {
    this.#seed = seed;
  }

  trace(trace: number): string {
    return (this.#traces[trace] ??= traceIdOf(this.#seed, trace));
  }

  span(id: number): string {
    return (this.#spans[id] ??= spanIdOf(this.#seed, id));
  }
}

export function traceIdOf(seed: number, trace: number): string {
  const random = new Random(seed, 12, trace);
  return word(random) + word(random) + word(random) + word(random);
}

function spanIdOf(seed: number, id: number): string {
  const random = new Random(seed, 13, id);
  return word(random) + word(random);
}

/** @returns the OTLP Resource of one process. */
export function resourceAttributes(scenario: Scenario, replica: number): [string, AttributeValue][] {
  return [
    ['service.name', scenario.service],
    ['service.instance.id', `${scenario.service}-${replica + 1}`],
    ['host.name', `host-${replica + 1}`],
    ['process.pid', 4000 + replica],
    ['telemetry.sdk.language', 'nodejs'],
    ['telemetry.sdk.name', 'opentelemetry'],
  ];
}
