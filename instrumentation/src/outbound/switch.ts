/** What outgoing requests are recorded; the patches look at it on every call. */
export interface OutboundSwitch {
  /** Waits for sockets and connections. */
  outbound: boolean;
  /** CLIENT spans of our own for `http` and `https`, with the trace carried on; only where nobody else makes them. */
  httpSpans: boolean;
  /** The same for `undici` and `fetch`. */
  undiciSpans: boolean;
}
