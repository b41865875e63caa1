/** Mean of the lower three quarters of a squared standard normal variable: what is left of 1 without the top quarter. */
const TRIMMED_MEAN = 0.37;

/** A stretch of even arrival rate; ns relative to the origin of the requests. */
export interface RateSegment {
  readonly startNs: number;
  readonly endNs: number;
}

/** A window shorter than this many bins cannot be told from chance. */
const MIN_BINS = 4;
const MAX_BINS = 160;
const FEWEST_BINS = 24;
const REQUESTS_PER_BIN = 15;
/** A slope of this many standard errors is no chance; pieces change by about this share and are no shorter than this. */
const SLOPE_ERRORS = 3;
const PIECE_CHANGE = 0.15;
const PIECE_BINS = 8;
/** Arrivals are never taken for more regular than this: what looks clockwork over few bins may be chance. */
const LEAST_DISPERSION = 0.2;

/**
 * Windows of even arrival rate where no load plan says when the rate changed (rule 1): optimal segmentation of
 * binned arrivals. Cost of a segment = Poisson -log likelihood -n·ln(n/bins), penalty d·(3·ln B + 2) a segment, at
 * least four bins each; exact by dynamic programming over B ≤ 160 bins. d is the dispersion of the counts: arrivals
 * more regular than Poisson's (paced by a generator) show smaller changes (quasi-likelihood).
 *
 * @param startNs sorted
 * @param lastEndNs when the last of them was over, which belongs to the window: arrivals at one instant have no gap that a rate could be taken from
 */
export function rateSegments(startNs: Float64Array, weight: Float64Array, lastEndNs: number): RateSegment[] {
  const n = startNs.length;
  if (n === 0) return [];
  const from = startNs[0];
  // One mean gap after the last arrival, so that n arrivals in n gaps give the rate; never an empty window.
  const gap = n > 1 ? (startNs[n - 1] - from) / (n - 1) : 0;
  const to = startNs[n - 1] + Math.max(1, gap > 0 ? gap : lastEndNs - from + 1);
  let total = 0;
  for (const w of weight) total += w;
  const bins = Math.min(MAX_BINS, Math.max(FEWEST_BINS, Math.floor(Math.min(total, n) / REQUESTS_PER_BIN)));
  const width = (to - from) / bins;
  const before = new Float64Array(bins + 1);
  for (let i = 0; i < n; i++) {
    before[Math.min(bins - 1, Math.floor((startNs[i] - from) / width)) + 1] += (weight[i] * n) / total;
  }
  for (let b = 1; b <= bins; b++) before[b] += before[b - 1];

  const penalty = dispersion(before) * (3 * Math.log(bins) + 2);
  const best = new Float64Array(bins + 1).fill(Number.POSITIVE_INFINITY);
  const cut = new Int32Array(bins + 1);
  best[0] = 0;
  for (let end = MIN_BINS; end <= bins; end++) {
    for (let start = 0; start <= end - MIN_BINS; start++) {
      const count = before[end] - before[start];
      const cost = count > 0 ? -count * Math.log(count / (end - start)) : 0;
      const value = best[start] + cost + penalty;
      if (value < best[end]) {
        best[end] = value;
        cut[end] = start;
      }
    }
  }
  const ends: number[] = [];
  for (let end = bins; end > 0; end = cut[end]) ends.unshift(end);
  const cuts = ends.flatMap((end, i) => piecesOf(before, i > 0 ? ends[i - 1] : 0, end));
  return cuts.map((end, i) => ({
    startNs: from + (i > 0 ? cuts[i - 1] : 0) * width,
    endNs: from + end * width,
  }));
}

/**
 * Steps too small to be told apart, and ramps, lie in one segment, whose mean is then no rate that was offered: a queue
 * that is full in a part of it looks half full. Where its rate rises or falls beyond chance, it is cut into equal pieces
 * that change by little.
 *
 * @returns the ends of the pieces
 */
function piecesOf(before: Float64Array, start: number, end: number): number[] {
  const n = end - start;
  const total = before[end] - before[start];
  let products = 0;
  let squares = 0;
  for (let b = start; b < end; b++) {
    const t = b - start - (n - 1) / 2;
    products += t * (before[b + 1] - before[b]);
    squares += t * t;
  }
  const slope = products / squares;
  let rest = 0;
  for (let b = start; b < end; b++) {
    const t = b - start - (n - 1) / 2;
    rest += (before[b + 1] - before[b] - total / n - slope * t) ** 2;
  }
  // Its error by the scatter of the counts themselves: bursts make slopes by chance.
  const error = Math.sqrt(Math.max(rest / (n - 2), total / n) / squares);
  if (Math.abs(slope) < SLOPE_ERRORS * error) return [end];
  const change = (Math.abs(slope) * n * n) / total;
  const pieces = Math.max(1, Math.min(Math.floor(n / PIECE_BINS), Math.round(change / PIECE_CHANGE)));
  return Array.from({ length: pieces }, (_, i) => start + Math.round(((i + 1) * n) / pieces));
}

/**
 * Variance of the counts of bins over their mean, from the differences of neighbours, of which a change of rate moves
 * few: a quarter is left out at the top. 1 for Poisson arrivals or anything less regular.
 */
function dispersion(before: Float64Array): number {
  const ratios: number[] = [];
  for (let b = 2; b < before.length; b++) {
    const last = before[b - 1] - before[b - 2];
    const next = before[b] - before[b - 1];
    if (last + next > 0) ratios.push((next - last) ** 2 / (last + next));
  }
  ratios.sort((a, b) => a - b);
  const kept = ratios.slice(0, Math.ceil(0.75 * ratios.length));
  const mean = kept.reduce((sum, ratio) => sum + ratio, 0) / Math.max(1, kept.length);
  return Math.min(1, Math.max(LEAST_DISPERSION, mean / TRIMMED_MEAN));
}
