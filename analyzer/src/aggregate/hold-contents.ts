import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { isWait } from '../classify/classify.ts';
import type { Classes, SegmentName } from '../classify/types.ts';
import { RowIndex } from '../model/row-index.ts';
import type { Forest } from '../tree/types.ts';
import type { Activity, Hold } from './activity.ts';
import { ContentNames } from './content-names.ts';
import { ContentSums } from './content-sums.ts';
import { stretchesOf } from './hold-stretches.ts';
import type { Baselines } from './opaque.ts';
import { Children } from './pieces.ts';
import type { QueueIndex } from './queue-index.ts';
import type { Requests } from './requests-types.ts';
import { lanesOf, type Series } from './series.ts';
import { ServedInside } from './served-inside.ts';
import { SpanQueues } from './span-queues.ts';
import { StatementReader } from './statement.ts';
import { type EachPart, holdsRow, type TreePart } from './tree-parts.ts';

/** A stretch of a span that is really something else: how rebuilt waits get into the pieces (official spans only). */
export interface Overlay {
  readonly start: number;
  readonly end: number;
  readonly segment: SegmentName;
  /** Index of the queue waited for; -1 for service. */
  readonly queue: number;
}

/** Indexes into SEGMENTS. */
const CONNECTION_WAIT = SEGMENTS.indexOf('connection_wait');
const WORK = SEGMENTS.indexOf('work');
const DOWNSTREAM = SEGMENTS.indexOf('downstream');
const NETWORK = SEGMENTS.indexOf('network');

/**
 * Rule 4: what every hold consists of. The partition of the hold's host, cut to the hold: waiting pieces count as
 * nested waits, pieces of servers as their cost at low load plus the excess, work as service by the event loop.
 */
export function addHoldContents(
  eachPart: EachPart,
  requests: Requests,
  activity: Activity,
  index: QueueIndex,
  series: readonly Series[],
  baselines: Baselines,
  overlays: ReadonlyMap<number, readonly Overlay[]>,
): void {
  if (activity.holds.length === 0) return;
  const served = new ServedInside(activity, baselines);
  const sums = new ContentSums(series);
  const { offset, members } = holdsByRequest(activity, requests);
  eachPart((part) => {
    const pieces = new LabelledPieces(part, index, overlays);
    const contents = new Contents(part, requests, activity, series, baselines, served, sums);
    for (const request of part.requests) {
      if (offset[request] === offset[request + 1] || requests.window[request] < 0) continue;
      const holds: Hold[] = [];
      for (let k = offset[request]; k < offset[request + 1]; k++) holds.push(activity.holds.at(members[k]));
      contents.addTogether(holds, request);
      pieces.forget();
      for (const stretch of stretchesOf(holds, series)) {
        contents.add(stretch.part, pieces.under(stretch.part.host - part.firstRow), stretch.times);
      }
    }
    pieces.giveBack();
  });
  sums.settle();
}

/** @returns the holds of each request i: members[offset[i]] .. members[offset[i + 1]]. */
function holdsByRequest(
  { holds }: Activity,
  requests: Requests,
): { offset: Int32Array; members: Int32Array } {
  const offset = new Int32Array(requests.count + 1);
  for (let i = 0; i < holds.length; i++) offset[holds.request[i] + 1]++;
  for (let r = 0; r < requests.count; r++) offset[r + 1] += offset[r];
  const members = new Int32Array(holds.length);
  const next = offset.slice(0, requests.count);
  for (let i = 0; i < holds.length; i++) members[next[holds.request[i]]++] = i;
  return { offset, members };
}

/** A piece of a span, what its time means (an index into SEGMENTS), and the queue it belongs to; -1 without one. */
interface Labelled {
  readonly row: number;
  readonly start: number;
  readonly end: number;
  readonly segment: number;
  readonly queue: number;
}

/** The pieces under the spans that host the holds of one request. */
class LabelledPieces {
  readonly #children: Children;
  readonly #classes: Classes;
  readonly #queues: SpanQueues;
  readonly #overlays: ReadonlyMap<number, readonly Overlay[]>;
  readonly #hosts: number[] = [];
  readonly #pieces: Labelled[][] = [];

  constructor(
    { forest, classes }: TreePart,
    index: QueueIndex,
    overlays: ReadonlyMap<number, readonly Overlay[]>,
  ) {
    this.#children = new Children(forest);
    this.#classes = classes;
    this.#queues = new SpanQueues(index, forest.table, classes);
    this.#overlays = overlays;
  }

  /** No request comes any more. */
  giveBack(): void {
    this.#children.giveBack();
  }

  /** Another request comes. */
  forget(): void {
    this.#hosts.length = 0;
    this.#pieces.length = 0;
  }

  /** @returns disjoint pieces in order of time. */
  under(host: number): readonly Labelled[] {
    const known = this.#hosts.indexOf(host);
    if (known >= 0) return this.#pieces[known];
    const pieces: Labelled[] = [];
    this.#children.visitPieces(host, (row, start, end) => this.#label(pieces, row, start, end));
    this.#hosts.push(host);
    this.#pieces.push(pieces);
    return pieces;
  }

  #label(into: Labelled[], row: number, start: number, end: number): void {
    const segment = this.#classes.segment[row];
    const queue = this.#queues.find(row);
    let at = start;
    const over = this.#overlays.size === 0 ? undefined : this.#overlays.get(row);
    for (const cut of over ?? NONE) {
      const cutStart = Math.max(cut.start, at);
      const cutEnd = Math.min(cut.end, end);
      if (cutEnd <= cutStart) continue;
      if (cutStart > at) into.push({ row, start: at, end: cutStart, segment, queue });
      into.push({
        row,
        start: cutStart,
        end: cutEnd,
        segment: SEGMENTS.indexOf(cut.segment),
        queue: cut.queue,
      });
      at = cutEnd;
    }
    if (end > at) into.push({ row, start: at, end, segment, queue });
  }
}

const NONE: readonly Overlay[] = [];

/** Sums the contents of holds into the series of their queues. */
class Contents {
  readonly #forest: Forest;
  readonly #requests: Requests;
  readonly #series: readonly Series[];
  readonly #names: ContentNames;
  readonly #served: ServedInside;
  readonly #sums: ContentSums;
  /** By row of the part: index of its call, and of its wait for a connection. */
  readonly #callOfRow = new RowIndex();
  readonly #connectionOfRow = new RowIndex();

  constructor(
    part: TreePart,
    requests: Requests,
    { calls, waits }: Activity,
    series: readonly Series[],
    { connectionNs }: Baselines,
    served: ServedInside,
    sums: ContentSums,
  ) {
    const { table } = part.forest;
    this.#forest = part.forest;
    this.#requests = requests;
    this.#series = series;
    this.#names = new ContentNames(table, series, new StatementReader(table), sums);
    this.#served = served;
    this.#sums = sums;
    for (let i = 0; i < calls.length; i++) {
      if (!holdsRow(part, calls.row[i])) continue;
      const row = calls.row[i] - part.firstRow;
      this.#callOfRow.set(row, i);
      // The way to a called service is part of its call.
      const caller = part.forest.parent[row];
      if (caller >= 0 && part.classes.segment[caller] === NETWORK) this.#callOfRow.set(caller, i);
    }
    for (let i = 0; i < waits.length; i++) {
      if (Number.isNaN(connectionNs[i]) || !holdsRow(part, waits.row[i])) continue;
      this.#connectionOfRow.set(waits.row[i] - part.firstRow, i);
    }
  }

  /** Which holds of one request overlap: what a change of one does to the other (what-if) follows from it. */
  addTogether(holds: readonly Hold[], request: number): void {
    if (holds.length < 2) return;
    const w = this.#requests.window[request];
    const weight = this.#requests.weight[request];
    const byStart = [...holds].sort((a, b) => a.startNs - b.startNs);
    for (let i = 0; i < byStart.length; i++) {
      const a = byStart[i];
      for (let j = i + 1; j < byStart.length && byStart[j].startNs < a.endNs; j++) {
        const b = byStart[j];
        if (a.queue === b.queue) continue;
        const ns = Math.min(a.endNs, b.endNs) - b.startNs;
        if (ns <= 0) continue;
        this.#sums.of(this.#series[a.queue]).together.add(b.queue, request, w, ns * weight);
        this.#sums.of(this.#series[b.queue]).together.add(a.queue, request, w, ns * weight);
      }
    }
  }

  /**
   * @param pieces those of the span the hold hangs under
   * @param times how many holds it stands for
   */
  add(hold: Hold, pieces: readonly Labelled[], times: number): void {
    const own = this.#series[hold.queue];
    const lanes = lanesOf(own, hold).map((lane) => this.#sums.of(lane));
    const { request } = hold;
    const { startNs, window } = this.#requests;
    const weight = times * this.#requests.weight[hold.request];
    const w = window[hold.request];
    const from = hold.startNs - startNs[hold.request];
    const to = hold.endNs - startNs[hold.request];
    for (let i = firstEndingAfter(pieces, from); i < pieces.length && pieces[i].start < to; i++) {
      const { row, start, end, segment, queue } = pieces[i];
      const ns = Math.min(end, to) - Math.max(start, from);
      if (ns <= 0) continue;
      const weighted = ns * weight;
      this.#names.add(own, row, segment, queue, request, weighted);
      if (segment === CONNECTION_WAIT) {
        const wait = this.#connectionOfRow.of(row);
        if (wait >= 0) this.#served.connection(wait, ns);
      } else if (isWait(segment)) {
        if (queue < 0 || queue === hold.queue) continue;
        for (const lane of lanes) lane.nested.add(queue, request, w, weighted);
      } else if (segment === WORK) {
        if (queue < 0 || queue === hold.queue) continue;
        for (const lane of lanes) lane.service.add(queue, request, w, weighted);
      } else if (segment === DOWNSTREAM) {
        const call = this.#callAbove(row);
        if (call >= 0) this.#served.call(call, ns);
      } else if (segment === NETWORK) {
        const call = this.#callOfRow.of(row);
        if (call >= 0) this.#served.call(call, ns);
      }
    }
    this.#served.addTo(lanes, request, w, weight);
  }

  #callAbove(row: number): number {
    const { parent } = this.#forest;
    for (let up = row; up >= 0; up = parent[up]) {
      const call = this.#callOfRow.of(up);
      if (call >= 0) return call;
    }
    return -1;
  }
}

/** @returns the index of the first of ordered, disjoint pieces that ends after a time. */
function firstEndingAfter(pieces: readonly Labelled[], time: number): number {
  let low = 0;
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pieces[middle].end > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
