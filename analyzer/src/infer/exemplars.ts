import { ATTR_LINK, LINK_BLOCKED_BY } from '@waitfall/instrumentation/conventions';
import type { Hold, Wait } from '../aggregate/activity.ts';
import type { QueueModel } from '../aggregate/queue-model.ts';
import { spanIdText } from '../model/span-table.ts';
import type { Facts } from './facts.ts';
import type { Statement } from './types.ts';

type Trace = NonNullable<Statement['traces']>[number];

const EXEMPLARS = 3;
/** A hold whose release grants a waiter ends when the wait does, give or take the clock. */
const HAND_OVER_NS = 2e6;

/** The longest waits on a queue in some windows, each with who held it: a `blocked_by` link, else the hold that ended then. */
export function exemplars(facts: Facts, model: QueueModel, windows: readonly number[]): Trace[] {
  const chosen = new Set(windows);
  const waits = facts.activity.waits
    .filter((wait) => wait.queue === model.queue.index && chosen.has(facts.requests.window[wait.request]))
    .sort((a, b) => b.endNs - b.startNs - (a.endNs - a.startNs))
    .slice(0, EXEMPLARS);
  return waits.map((wait) => {
    const blocker = linkedBlocker(facts, wait) ?? holderBefore(facts, wait);
    return { ...idsOf(facts, wait.row), ...(blocker ? { blocker } : {}) };
  });
}

function linkedBlocker(facts: Facts, wait: Wait): Trace['blocker'] | null {
  const links = facts.forest.table.links.get(wait.row) ?? [];
  const link = links.find((one) => one.attributes.get(ATTR_LINK) === LINK_BLOCKED_BY);
  return link ? { traceId: link.traceId, spanId: link.spanId } : null;
}

function holderBefore(facts: Facts, wait: Wait): Trace['blocker'] | null {
  let best: Hold | null = null;
  for (const hold of facts.activity.holds) {
    if (hold.queue !== wait.queue || hold.instance !== wait.instance || hold.request === wait.request)
      continue;
    const late = hold.endNs - wait.endNs;
    if (hold.startNs >= wait.endNs || late > HAND_OVER_NS || hold.endNs <= wait.startNs) continue;
    if (best === null || Math.abs(late) < Math.abs(best.endNs - wait.endNs)) best = hold;
  }
  return best ? idsOf(facts, best.row) : null;
}

function idsOf(facts: Facts, row: number): { traceId: string; spanId: string } {
  const { table } = facts.forest;
  return { traceId: table.traceIds[table.trace[row]], spanId: spanIdText(table, row) };
}
