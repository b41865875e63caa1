import type { Queue } from './activity.ts';
import type { Lane } from './series.ts';
import type { Timeline } from './windows.ts';

export interface Capacity {
  /** Sum over instances; null = unknown. */
  readonly servers: number | null;
  readonly byInstance: readonly (number | null)[];
  /** Servers that were there in each window; null: the same in all. */
  readonly byWindow: readonly number[] | null;
  readonly from: 'stated' | 'inferred' | 'unknown';
  /** Set where the stated capacity cannot be right. */
  readonly contradiction: string | null;
}

/** Utilisation of a queue of one server beyond this is impossible: it has more servers, or is several queues. */
const OVERFULL = 1.1;
/** One row: the ends of its holds are seen late by a busy process, so they seem to overlap a little. */
const OVERFULL_ROW = 1.4;

/**
 * Servers of a queue: stated, else the most servers seen busy by somebody who had to queue. A row lock has one per
 * row; without keys a relation's lock counts as one queue only where its holds do not overlap.
 */
export function capacityOf(
  queue: Queue,
  lane: Lane,
  keyed: boolean,
  timeline: Timeline,
  instances: readonly Lane[] = [lane],
  presence: readonly Float64Array[] | null = null,
): Capacity {
  if (queue.kind === 'eventloop') {
    const byInstance = queue.instances.map(() => 1);
    return { ...together(byInstance, presence, timeline), from: 'stated', contradiction: null };
  }
  if (queue.kind === 'downstream') return UNKNOWN;
  if (queue.kind === 'lock') return lockCapacity(queue, lane, keyed, timeline);
  let contradiction: string | null = null;
  let inferred = false;
  const byInstance = queue.instances.map((_, i) => {
    const stated = queue.statedCapacity[i];
    if (stated === null) {
      inferred = true;
      return queue.queuedInUse[i] > 0 ? queue.queuedInUse[i] : null;
    }
    if (queue.maxInUse[i] > stated) {
      contradiction = `${queue.name} states capacity ${stated}, yet ${queue.maxInUse[i]} were in use; ${queue.maxInUse[i]} is used`;
      inferred = true;
      return queue.maxInUse[i];
    }
    return stated;
  });
  if (byInstance.length === 0 || byInstance.some((c) => c === null)) {
    return { ...UNKNOWN, byInstance, contradiction };
  }
  const counted = inferred ? atLeastBusy(byInstance, instances, timeline) : byInstance;
  return { ...together(counted, presence, timeline), from: inferred ? 'inferred' : 'stated', contradiction };
}

/** The servers of all processes; where not all were there all the time, those of the window of the highest rate. */
function together(
  byInstance: readonly (number | null)[],
  presence: readonly Float64Array[] | null,
  { windows, top }: Timeline,
): Pick<Capacity, 'servers' | 'byInstance' | 'byWindow'> {
  const sum = (of: (i: number) => number) =>
    byInstance.reduce<number>((all, c, i) => all + (c ?? 0) * of(i), 0);
  if (presence === null || top < 0) return { servers: sum(() => 1), byInstance, byWindow: null };
  const byWindow = windows.map((_, w) => sum((i) => presence[i][w]));
  return { servers: Math.max(1, Math.round(byWindow[top])), byInstance, byWindow };
}

/**
 * Fewer servers than were busy on average cannot be: of a sampled export only some holds are there to be counted at
 * once, while their weighted time is that of all.
 */
function atLeastBusy(
  counted: readonly (number | null)[],
  lanes: readonly Lane[],
  timeline: Timeline,
): (number | null)[] {
  return counted.map((servers, i) => {
    const busy = lanes[i] && servers !== null ? meanBusy(lanes[i], timeline) : 0;
    return servers !== null && busy > OVERFULL * servers ? Math.ceil(busy / OVERFULL) : servers;
  });
}

/** @returns servers busy on average in the window in which most were. */
function meanBusy(lane: Lane, timeline: Timeline): number {
  return Math.max(
    0,
    ...timeline.windows.map((window, w) => lane.busyNs[w] / (window.endNs - window.startNs)),
  );
}

function lockCapacity(queue: Queue, lane: Lane, keyed: boolean, timeline: Timeline): Capacity {
  const stated = queue.statedCapacity[0] ?? null;
  const servers = stated ?? 1;
  const limit = (keyed ? OVERFULL_ROW : OVERFULL) * servers;
  const overfull = timeline.windows.some(
    (window, w) => lane.busyNs[w] > limit * (window.endNs - window.startNs),
  );
  if (keyed && !overfull)
    return {
      servers: 1,
      byInstance: [1],
      byWindow: null,
      from: stated === null ? 'inferred' : 'stated',
      contradiction: null,
    };
  if (overfull && queue.holdsRebuilt) {
    // Rebuilt locks know no rows: as many as were ever held at once stand for the hot ones and their company.
    const most = meanBusy(lane, timeline);
    return { servers: most, byInstance: [most], byWindow: null, from: 'inferred', contradiction: null };
  }
  if (overfull) {
    return {
      ...UNKNOWN,
      contradiction: keyed
        ? `holds of one key of ${queue.name} overlap: the key does not name one row`
        : `holds of ${queue.name} overlap: they are of several rows, and no waitfall.lock.key says which`,
    };
  }
  return {
    servers,
    byInstance: [servers],
    byWindow: null,
    from: stated === null ? 'inferred' : 'stated',
    contradiction: null,
  };
}

const UNKNOWN: Capacity = {
  servers: null,
  byInstance: [],
  byWindow: null,
  from: 'unknown',
  contradiction: null,
};
