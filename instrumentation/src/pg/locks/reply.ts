/** When a statement was sent and answered, monotonic ms. */
export interface Reply {
  readonly sentMs: number;
  /** Reply, minus the longest time it may have lain in the event loop. */
  readonly answeredMs: number;
  readonly repliedMs: number;
}
