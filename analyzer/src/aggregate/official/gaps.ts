import {
  OUTCOMES,
  RESOURCE_EVENT_LOOP,
  RESOURCE_HTTP_SERVER,
  SEGMENTS,
} from '@waitfall/instrumentation/conventions';
import type { Classes } from '../../classify/types.ts';
import type { Piece } from '../../partition/types.ts';
import type { Forest } from '../../tree/types.ts';
import { ACQUIRED, type Activity } from '../activity.ts';
import type { Overlay } from '../host-pieces.ts';
import { Children } from '../pieces.ts';
import type { QueueIndex } from '../queue-index.ts';
import { topWindows } from '../queue-model.ts';
import type { Requests } from '../requests-types.ts';

/** A leading gap that grows this many times as much as the others (plus 0.3 ms) is admission, not the event loop. */
const ADMISSION_FACTOR = 4;
const ADMISSION_NS = 3e5;
/** Requests answered "rejected" before they called anything: this share more at the top than at low load is admission, too. */
const ADMISSION_LOSSES = 0.02;
/** A place in fewer requests at low load has no usual length. */
const FEWEST = 5;

const REJECTED = OUTCOMES.indexOf('rejected');

/** A stretch no call explains: CPU, plus what it waited for the event loop or a slot. */
interface Gap {
  readonly piece: Piece;
  /** Where in the request it lies: route, owner and what came before. */
  readonly place: string;
  readonly leading: boolean;
}

/** Length of a gap of a request at low load, ns; null where it is not known. */
type Usual = (gap: Gap, request: number) => number | null;

/**
 * Event loop and admission from official spans. What no call explains is CPU at low load (median by place in the
 * request); its growth is waiting: for the event loop, or, where only the gap before the first call grows, for an
 * admission slot.
 */
export function rebuildGaps(
  forest: Forest,
  classes: Classes,
  requests: Requests,
  activity: Activity,
  index: QueueIndex,
  lows: readonly number[],
  rising: readonly number[],
  overlays: Map<number, Overlay[]>,
): void {
  const gaps = collectGaps(forest, classes, requests);
  const low = new Set(lows);
  const top = new Set(topWindows(rising));
  const cost = medians(gaps, requests, low);
  const seen = seenRoutes(requests, low);
  // A place not seen at low load stays unaccounted; before the first call it is a wait nobody had at low load.
  const usualOf: Usual = ({ place, leading }, i) =>
    cost.get(place) ?? (leading && seen.has(requests.route[i]) ? 0 : null);
  const growth = (leading: boolean): number =>
    meanWait(gaps, requests, top, usualOf, leading) - meanWait(gaps, requests, low, usualOf, leading);
  const success = requests.outcomes.indexOf('success');
  const turnedAway = (i: number): boolean =>
    requests.outcomes[requests.outcome[i]] === 'rejected' && gaps[i].length <= 1;
  const loses = shareOf(requests, top, turnedAway) - shareOf(requests, low, turnedAway) > ADMISSION_LOSSES;
  const admission = loses || growth(true) > ADMISSION_FACTOR * growth(false) + ADMISSION_NS;
  for (let i = 0; i < requests.count; i++) {
    const { root } = forest.trees[requests.tree[i]];
    const { service, instance } = forest.table.resources[forest.table.resource[root]];
    const originNs = requests.startNs[i];
    let admittedNs = forest.start[root];
    for (const gap of gaps[i]) {
      const { piece, leading } = gap;
      const length = piece.end - piece.start;
      const usual = usualOf(gap, i);
      if (usual === null) continue;
      const loop = index.of('eventloop', RESOURCE_EVENT_LOOP, service);
      const loopInstance = index.instance(loop, instance);
      const workNs = Math.min(length, usual);
      const grantNs = piece.end - workNs;
      const slot = leading && admission;
      const queue = slot ? index.of('admission', RESOURCE_HTTP_SERVER, service) : loop;
      const at = slot ? index.instance(queue, instance) : loopInstance;
      if (slot) admittedNs = Math.max(admittedNs, grantNs);
      if (grantNs > piece.start) {
        activity.waits.push({
          queue: queue.index,
          instance: at,
          request: i,
          row: piece.row,
          startNs: originNs + piece.start,
          endNs: originNs + grantNs,
          outcome: ACQUIRED,
          inUse: null,
          depth: null,
        });
        add(overlays, piece.row, {
          start: piece.start,
          end: grantNs,
          segment: slot ? 'admission_wait' : 'eventloop_wait',
          queue: queue.index,
        });
      }
      if (workNs > 0) {
        activity.work.push({
          queue: loop.index,
          instance: loopInstance,
          request: i,
          startNs: originNs + grantNs,
          endNs: originNs + piece.end,
        });
        add(overlays, piece.row, { start: grantNs, end: piece.end, segment: 'work', queue: loop.index });
      }
    }
    const rejected = requests.outcome[i] !== success && gaps[i].length <= 1;
    if (!admission) continue;
    const queue = index.of('admission', RESOURCE_HTTP_SERVER, service);
    queue.holdsRebuilt = true;
    if (turnedAway(i)) {
      activity.waits.push({
        queue: queue.index,
        instance: index.instance(queue, instance),
        request: i,
        row: root,
        startNs: originNs + forest.start[root],
        endNs: originNs + forest.start[root],
        outcome: REJECTED,
        inUse: null,
        depth: null,
      });
    } else if (!rejected) {
      activity.holds.push({
        queue: queue.index,
        instance: index.instance(queue, instance),
        request: i,
        row: root,
        host: root,
        startNs: originNs + admittedNs,
        endNs: originNs + forest.end[root],
        key: null,
      });
    }
  }
  if (admission) inferSlots(activity);
}

function collectGaps(forest: Forest, classes: Classes, requests: Requests): Gap[][] {
  const unaccounted = SEGMENTS.indexOf('unaccounted');
  const { table } = forest;
  const children = new Children(forest);
  return Array.from({ length: requests.count }, (_, i) => {
    const tree = forest.trees[requests.tree[i]];
    const own = table.resources[table.resource[tree.root]].service;
    let before = 'start';
    const ordinals = new Map<string, number>();
    const out: Gap[] = [];
    for (const piece of children.piecesUnder(tree.root)) {
      const { row } = piece;
      if (classes.segment[row] !== unaccounted || table.resources[table.resource[row]].service !== own) {
        before = table.strings.text(table.name[row]);
        continue;
      }
      const here = `${requests.route[i]}|${table.name[row]}|${before}`;
      const ordinal = ordinals.get(here) ?? 0;
      ordinals.set(here, ordinal + 1);
      out.push({ piece, place: `${here}|${ordinal}`, leading: before === 'start' });
    }
    return out;
  });
}

/** Of the requests of some windows, those for which something holds, 0..1. */
function shareOf(
  { count, window }: Requests,
  windows: ReadonlySet<number>,
  holds: (i: number) => boolean,
): number {
  let all = 0;
  let found = 0;
  for (let i = 0; i < count; i++) {
    if (!windows.has(window[i])) continue;
    all++;
    if (holds(i)) found++;
  }
  return all > 0 ? found / all : 0;
}

/** Routes with enough requests at low load to say what is usual there. */
function seenRoutes(requests: Requests, windows: ReadonlySet<number>): Set<number> {
  const counts = new Map<number, number>();
  for (let i = 0; i < requests.count; i++) {
    if (!windows.has(requests.window[i])) continue;
    counts.set(requests.route[i], (counts.get(requests.route[i]) ?? 0) + 1);
  }
  return new Set([...counts].filter(([, n]) => n >= FEWEST).map(([route]) => route));
}

function medians(
  gaps: readonly Gap[][],
  requests: Requests,
  windows: ReadonlySet<number>,
): Map<string, number> {
  const success = requests.outcomes.indexOf('success');
  const values = new Map<string, number[]>();
  const leading = new Set<string>();
  for (const [i, own] of gaps.entries()) {
    if (!windows.has(requests.window[i]) || requests.outcome[i] !== success) continue;
    for (const { piece, place, leading: first } of own) {
      if (first) leading.add(place);
      const list = values.get(place);
      if (list) list.push(piece.end - piece.start);
      else values.set(place, [piece.end - piece.start]);
    }
  }
  return new Map(
    [...values]
      .filter(([, list]) => list.length >= FEWEST)
      .map(([place, list]) => [
        place,
        usualLength(
          list.sort((a, b) => a - b),
          leading.has(place),
        ),
      ]),
  );
}

/** Median; where admission may hold requests up even at low load, at most 1.5 x the lower quartile. */
function usualLength(ascending: readonly number[], leading: boolean): number {
  const middle = ascending[ascending.length >> 1];
  return leading ? Math.min(middle, 1.5 * ascending[ascending.length >> 2]) : middle;
}

/** Mean wait a request in its leading gaps, or in each of the others. */
function meanWait(
  gaps: readonly Gap[][],
  requests: Requests,
  windows: ReadonlySet<number>,
  usualOf: Usual,
  leading: boolean,
): number {
  let ns = 0;
  let n = 0;
  for (const [i, own] of gaps.entries()) {
    if (!windows.has(requests.window[i])) continue;
    if (leading) n++;
    for (const gap of own) {
      if (gap.leading !== leading) continue;
      const length = gap.piece.end - gap.piece.start;
      ns += Math.max(0, length - (usualOf(gap, i) ?? length));
      if (!leading) n++;
    }
  }
  return n > 0 ? ns / n : 0;
}

/** Slots nobody states: the number of admitted requests that was kept longest, of those above half of the most. */
function inferSlots(activity: Activity): void {
  for (const queue of activity.queues) {
    if (queue.kind !== 'admission' || !queue.holdsRebuilt) continue;
    for (let instance = 0; instance < queue.instances.length; instance++) {
      const events = activity.holds
        .filter((hold) => hold.queue === queue.index && hold.instance === instance)
        .flatMap((hold) => [
          { timeNs: hold.startNs, step: 1 },
          { timeNs: hold.endNs, step: -1 },
        ])
        .sort((a, b) => a.timeNs - b.timeNs || a.step - b.step);
      const timeAt = new Map<number, number>();
      let n = 0;
      let last = 0;
      let most = 0;
      for (const { timeNs, step } of events) {
        timeAt.set(n, (timeAt.get(n) ?? 0) + timeNs - last);
        n += step;
        most = Math.max(most, n);
        last = timeNs;
      }
      const longest = [...timeAt].filter(([level]) => level > most / 2).sort((a, b) => b[1] - a[1])[0];
      if (longest) {
        queue.queuedInUse[instance] = longest[0];
        queue.maxInUse[instance] = longest[0];
      }
    }
  }
}

function add(overlays: Map<number, Overlay[]>, row: number, overlay: Overlay): void {
  const list = overlays.get(row);
  if (list) list.push(overlay);
  else overlays.set(row, [overlay]);
}
