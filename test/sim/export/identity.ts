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
  readonly #spans = new Map<number, string>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  trace(trace: number): string {
    return (this.#traces[trace] ??= traceIdOf(this.#seed, trace));
  }

  span(id: number): string {
    let text = this.#spans.get(id);
    if (text === undefined) {
      text = spanIdOf(this.#seed, id);
      this.#spans.set(id, text);
    }
    return text;
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

/** @returns the OTLP Resource of one process: a replica, or a remote server after those. */
export function resourceAttributes(scenario: Scenario, process: number): [string, AttributeValue][] {
  const own = process < scenario.replicas.length;
  const service = own ? scenario.service : scenario.servers[process - scenario.replicas.length].address;
  const number = own ? process + 1 : 1;
  return [
    ['service.name', service],
    ['service.instance.id', `${service}-${number}`],
    ['host.name', `host-${service}-${number}`],
    ['process.pid', 4000 + process],
    ['telemetry.sdk.language', 'nodejs'],
    ['telemetry.sdk.name', 'opentelemetry'],
  ];
}

/** @returns how many processes a scenario can have spans from. */
export function processes(scenario: Scenario): number {
  return scenario.replicas.length + scenario.servers.length;
}
