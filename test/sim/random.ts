/** A seeded stream of uniform numbers: 32-bit state, a fresh stream costs nothing, so every request has its own. */
export class Random {
  #state: number;

  constructor(...seed: readonly number[]) {
    let h = 0x9e3779b9;
    for (const part of seed) {
      h = Math.imul(h ^ (part >>> 0), 0x85ebca6b);
      h ^= h >>> 13;
      h = Math.imul(h ^ Math.floor(part / 4294967296), 0xc2b2ae35);
      h ^= h >>> 16;
    }
    this.#state = h | 0;
  }

  /** @returns a number in (0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  }

  /** @returns an integer in 0..n-1. */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** @returns a number whose logarithm is uniform between those of low and high. */
  logBetween(low: number, high: number): number {
    return low * (high / low) ** this.next();
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(options: readonly T[]): T {
    return options[this.below(options.length)];
  }

  /** @returns an index drawn with the given weights. */
  weighted(weights: readonly number[]): number {
    let total = 0;
    for (const w of weights) total += w;
    let u = this.next() * total;
    for (let i = 0; i < weights.length - 1; i++) {
      u -= weights[i];
      if (u < 0) return i;
    }
    return weights.length - 1;
  }

  exponential(mean: number): number {
    return -mean * Math.log(this.next());
  }

  normal(): number {
    return Math.sqrt(-2 * Math.log(this.next())) * Math.cos(2 * Math.PI * this.next());
  }
}

/** A duration: mean in ns and how it varies; `cv` is the coefficient of variation of `lognormal`. */
export interface Duration {
  readonly meanNs: number;
  readonly shape: 'constant' | 'exponential' | 'lognormal';
  readonly cv?: number;
}

/** @returns one draw in whole ns, at least 1 where the mean is positive. */
export function draw(random: Random, duration: Duration): number {
  const { meanNs } = duration;
  if (meanNs <= 0) return 0;
  if (duration.shape === 'constant') return Math.max(1, Math.round(meanNs));
  if (duration.shape === 'exponential') return Math.max(1, Math.round(random.exponential(meanNs)));
  const variance = Math.log(1 + (duration.cv ?? 0.5) ** 2);
  return Math.max(1, Math.round(meanNs * Math.exp(Math.sqrt(variance) * random.normal() - variance / 2)));
}

export function constant(meanNs: number): Duration {
  return { meanNs, shape: 'constant' };
}

export function exponential(meanNs: number): Duration {
  return { meanNs, shape: 'exponential' };
}

export function lognormal(meanNs: number, cv: number): Duration {
  return { meanNs, shape: 'lognormal', cv };
}

export function scaled(duration: Duration, factor: number): Duration {
  return { ...duration, meanNs: duration.meanNs * factor };
}
