/** Simulated time 0. */
export const EPOCH_NS = 1_767_268_800_000_000_000n;
