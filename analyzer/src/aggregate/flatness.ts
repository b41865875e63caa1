/** Own demand, or visits, that stay within this share are flat. */
export const FLAT = 0.15;

/**
 * Largest relative difference of two means that chance explains: three standard errors, for values that scatter as
 * much as their mean (exponential service).
 */
export function chance(n: number, m: number): number {
  return n > 0 && m > 0 ? 3 * Math.sqrt(1 / n + 1 / m) : Number.POSITIVE_INFINITY;
}
