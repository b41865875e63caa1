import { DEPTH } from '../aggregate/queue-kind.ts';
import { type Frame, type QueueModel, topWindows } from '../aggregate/queue-model.ts';
import type { Requests } from '../aggregate/requests-types.ts';
import { meanLatency } from './chain.ts';
import { shareOfHoldGrowth } from './saturation.ts';

/** A queue around a server's calls is full from here on … */
const FULL = 0.85;
/** … and its holds grew by this share because of the server. */
const HOLD_SHARE = 0.3;
/** Slower calls that are this share of the growth of latency are the backlog themselves, where there is one: */
const MAIN_SHARE = 0.4;
/** a backlog makes requests take this multiple of what they took at low load; less is the chance of bursts. */
const BACKLOG = 2;

/** Whether R is only the rate at which completions stayed: any bottleneck makes those of all others stay. */
export function ratedByPlateau(model: QueueModel): boolean {
  return (model.kind === 'downstream' || model.kind === 'connection') && model.capacity === null;
}

/**
 * Whether the backlog of the service stands at a server whose queue nobody measures. What a saturated station cannot
 * serve waits right before it: either its calls are what requests spend their growth on, or the queue whose holds
 * contain its calls is full of callers that wait for it. A server that is merely slower while another queue holds the backlog is not the
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
  const lowNs = meanLatency(requests, frame.lows);
  const topNs = meanLatency(requests, top);
  if (topNs >= BACKLOG * lowNs && slowerNs >= MAIN_SHARE * (topNs - lowNs)) return true;
  const around = models
    .filter((model) => model !== server && (model.serviceNs.get(server.queue.index) ?? 0) > 0)
    // Of several pools around it the innermost: the one that is held for the shortest time.
    .sort((a, b) => DEPTH[a.kind] - DEPTH[b.kind] || a.meanHoldNs - b.meanHoldNs);
  // A row lock around the calls waits itself for nobody but its row.
  const caller = around.find((model) => model.kind !== 'lock');
  if (caller === undefined || !top.some((w) => (caller.utilization[w] ?? 1) >= FULL)) return false;
  return shareOfHoldGrowth(caller, server, frame.lows, top, 0.1) > HOLD_SHARE;
}
