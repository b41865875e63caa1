/** A change of one queue. */
export type Change =
  | { readonly resource: string; readonly hold: number }
  | { readonly resource: string; readonly visits: number }
  | { readonly resource: string; readonly capacity: number };

const FACTOR = /^(.+?)\s+(hold|visits)\s+[x×](\d+(?:\.\d+)?)$/;
const CAPACITY = /^(.+?)\s+capacity\s+(\d+(?:\.\d+)?)$/;

/**
 * Parses `lock:campaign hold x0.25`, `db:5432 visits x0.5` or `pg-pool:signup capacity 20`.
 *
 * @throws Error saying what is understood.
 */
export function parseChange(text: string): Change {
  const trimmed = text.trim();
  const factor = FACTOR.exec(trimmed);
  if (factor && Number(factor[3]) > 0) {
    const value = Number(factor[3]);
    return factor[2] === 'hold'
      ? { resource: factor[1], hold: value }
      : { resource: factor[1], visits: value };
  }
  const capacity = CAPACITY.exec(trimmed);
  if (capacity && Number(capacity[2]) > 0) return { resource: capacity[1], capacity: Number(capacity[2]) };
  throw new Error(
    `change '${text}' is not understood; write '<resource> hold x0.5', '<resource> visits x0.5' or '<resource> capacity 20'`,
  );
}
