const originNs = BigInt(Math.round(performance.timeOrigin * 1e6));
const originMonotonicNs = process.hrtime.bigint() - BigInt(Math.round(performance.now() * 1e6));

/** @returns the present time as epoch ns, from the monotonic clock anchored once at the start of the process. */
export function unixNano(): bigint {
  return originNs + (process.hrtime.bigint() - originMonotonicNs);
}
