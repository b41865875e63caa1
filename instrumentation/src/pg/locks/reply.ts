/** When a statement was sent and answered, monotonic ms. */
export interface Reply {
  readonly sentMs: number;
  /** Reply, minus the longest time it may have lain in the event loop. */
  readonly answeredMs: number;
  readonly repliedMs: number;
  /** Reply, minus the time it has provably lain in the event loop. */
  readonly readyMs: number;
}

/** @returns as of something that happens at once. */
export function replyAt(atMs: number): Reply {
  return { sentMs: atMs, answeredMs: atMs, repliedMs: atMs, readyMs: atMs };
}
