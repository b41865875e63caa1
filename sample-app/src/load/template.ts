/**
 * Placeholders in paths and bodies:
 *
 * - `{{sequence NAME}}`: 1, 2, 3, … counted for each NAME
 * - `{{recent NAME N}}`: one of the last N values of that sequence, 1 where there is none yet
 * - `{{integer A B}}`: a whole number from A to B
 *
 * A JSON text that is nothing but one placeholder becomes a number.
 */
export class Template {
  readonly #random: () => number;
  readonly #sequences = new Map<string, number>();

  constructor(random: () => number) {
    this.#random = random;
  }

  /** @returns the text with its placeholders replaced. */
  text(pattern: string): string {
    return pattern.replaceAll(/\{\{([^}]*)\}\}/g, (_, command: string) => String(this.#value(command)));
  }

  /** @returns a copy of a JSON value with all texts in it replaced. */
  json(value: unknown): unknown {
    if (typeof value === 'string') {
      const whole = /^\{\{([^}]*)\}\}$/.exec(value);
      return whole ? this.#value(whole[1]!) : this.text(value);
    }
    if (Array.isArray(value)) return value.map((item) => this.json(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.json(item)]));
  }

  #value(command: string): number {
    const [kind, first = '', second = ''] = command.trim().split(/\s+/);
    if (kind === 'sequence') {
      const next = (this.#sequences.get(first) ?? 0) + 1;
      this.#sequences.set(first, next);
      return next;
    }
    if (kind === 'recent') {
      const last = this.#sequences.get(first) ?? 1;
      return Math.max(1, last - Math.floor(this.#random() * Number(second)));
    }
    if (kind === 'integer' && Number.isSafeInteger(Number(first)) && Number(second) >= Number(first)) {
      return Number(first) + Math.floor(this.#random() * (Number(second) - Number(first) + 1));
    }
    throw new Error(`unknown placeholder {{${command}}}; there are: sequence, recent, integer`);
  }
}
