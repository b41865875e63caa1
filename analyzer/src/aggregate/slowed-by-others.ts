import type { CallList } from './call-list.ts';

/** Beyond this many standard errors it is not chance … */
const ERRORS = 3.5;
/** … and calls that find many others must take this much longer than those that find few. */
const LONGER = 0.12;
const FEWEST = 60;

/**
 * Whether calls to a server take longer the more others they find in flight: without that there is no queue at it, and
 * every difference between windows is the scatter of its costs. Line of duration / cost over the others found, each call
 * by its cost; its error from the residuals.
 *
 * @param members calls to one server, failed ones left out
 * @param costNs cost of each call, NaN where unknown
 */
export function slowedByOthers(
  members: Int32Array,
  calls: CallList,
  ahead: Int32Array,
  costNs: Float64Array,
): boolean {
  let weight = 0;
  let mx = 0;
  let my = 0;
  const known = members.filter((i) => costNs[i] > 0);
  if (known.length < FEWEST) return true;
  const { durationNs } = calls;
  for (let k = 0; k < known.length; k++) {
    const i = known[k];
    weight += costNs[i];
    mx += costNs[i] * ahead[i];
    my += durationNs[i];
  }
  mx /= weight;
  my /= weight;
  let sxx = 0;
  let sxy = 0;
  for (let k = 0; k < known.length; k++) {
    const i = known[k];
    const x = ahead[i] - mx;
    sxx += costNs[i] * x * x;
    sxy += x * (durationNs[i] - costNs[i] * my);
  }
  if (sxx === 0) return false;
  const slope = sxy / sxx;
  let residual = 0;
  for (let k = 0; k < known.length; k++) {
    const i = known[k];
    const x = ahead[i] - mx;
    const off = x * (durationNs[i] - costNs[i] * (my + slope * x));
    residual += off * off;
  }
  const error = Math.sqrt(residual) / sxx;
  return slope > ERRORS * error && slope * spread(known, ahead) > LONGER * my;
}

/** Others found by the busiest tenth of the calls beyond those found by the quietest. */
function spread(members: Int32Array, ahead: Int32Array): number {
  const sorted = members.map((i) => ahead[i]).sort();
  return sorted[Math.floor(0.9 * (sorted.length - 1))] - sorted[Math.floor(0.1 * (sorted.length - 1))];
}
