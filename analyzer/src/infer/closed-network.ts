/** A place in a closed network at which customers queue. */
export interface Station {
  /** Service per round, ns. */
  readonly demandNs: number;
  readonly servers: number;
}

/** With more customers the throughput is that of the slowest station, as far as anybody could measure. */
const MOST_CUSTOMERS = 400;

/**
 * Rounds per second of a closed network: the servers of an outer queue are its customers, the queues inside its holds
 * the stations, the rest of the hold a delay. Exact mean value analysis (Reiser and Lavenberg 1980); a station of m
 * servers counts as one m times as fast behind a delay of (m − 1) / m of its demand (Seidmann 1987).
 *
 * The answer lies below customers / (sum of demands), since customers wait for each other inside: a pool whose holders
 * queue for one row is full before its own demand fills it.
 */
export function closedThroughput(customers: number, delayNs: number, stations: readonly Station[]): number {
  const n = Math.floor(customers);
  const queues = stations.map(({ demandNs, servers }) => demandNs / servers);
  const delay =
    delayNs + stations.reduce((sum, { demandNs, servers }) => sum + (demandNs * (servers - 1)) / servers, 0);
  const ceiling = 1e9 / Math.max(...queues, 0);
  const idle = delay + queues.reduce((a, b) => a + b, 0);
  if (idle <= 0) return Number.POSITIVE_INFINITY;
  if (n < 1) return (customers * 1e9) / idle;
  if (n > MOST_CUSTOMERS) return Math.min(ceiling, (customers * 1e9) / idle);
  const queued = new Float64Array(queues.length);
  let perNs = 0;
  for (let k = 1; k <= n; k++) {
    let cycleNs = delay;
    for (let i = 0; i < queues.length; i++) cycleNs += queues[i] * (1 + queued[i]);
    perNs = k / cycleNs;
    for (let i = 0; i < queues.length; i++) queued[i] = perNs * queues[i] * (1 + queued[i]);
  }
  // Part of a customer (a hotter instance, a stated capacity that is none): in proportion.
  return Math.min(ceiling, perNs * 1e9 * (customers / n));
}
