import { DEPTH } from '../aggregate/queue-kind.ts';
import { type Frame, type QueueModel, topWindows } from '../aggregate/queue-model.ts';
import type { Requests } from '../aggregate/requests-types.ts';
import { meanLatency } from './chain.ts';

/** A queue around a server's calls is full from here on. */
const FULL = 0.85;
/** Slower calls that are this share of the growth of latency are the backlog themselves. */
const MAIN_SHARE = 0.4;

/**
 * Whether the backlog of the service stands at a server whose queue nobody measures. What a saturated station cannot
 * serve waits right before it: either its calls are what requests spend their growth on, or the queue whose holds
 * contain its calls is full of callers. A server that is merely slower while another queue holds the backlog is not the
 * cause, however flat its completions are.
 */
export function holdsBacklog(
  server: QueueModel,
  models: readonly QueueModel[],
  frame: Frame,
  requests: Requests,
): boolean {
  const top = topWindows(frame.rising);
  const slowerNs = server.visits * (server.topWaitNs - server.lowWaitNs);
  const latencyNs = meanLatency(requests, top) - meanLatency(requests, frame.lows);
  if (slowerNs >= MAIN_SHARE * latencyNs) return true;
  const around = models
    .filter((model) => model !== server && (model.serviceNs.get(server.queue.index) ?? 0) > 0)
    .sort((a, b) => DEPTH[a.kind] - DEPTH[b.kind]);
  // A row lock around the calls waits itself for nobody but its row.
  const caller = around.find((model) => model.kind !== 'lock');
  return caller !== undefined && top.some((w) => (caller.utilization[w] ?? 1) >= FULL);
}
