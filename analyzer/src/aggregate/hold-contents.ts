import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { isWait } from '../classify/classify.ts';
import type { Activity, Hold } from './activity.ts';
import { type Content, contentOf } from './content-names.ts';
import { ContentSums, type LaneSums } from './content-sums.ts';
import { stretchesOf } from './hold-stretches.ts';
import { CONNECTION_WAIT, DOWNSTREAM, type HostPieces, type Label, NETWORK } from './host-pieces.ts';
import type { Baselines } from './opaque.ts';
import type { QueueIndex } from './queue-index.ts';
import type { Requests } from './requests-types.ts';
import { lanesOf, type Series } from './series.ts';
import { ServedInside } from './served-inside.ts';
import { ByRequest } from './sort-records.ts';
import type { SteadySum } from './steady-sums.ts';

const WORK = SEGMENTS.indexOf('work');

/**
 * Rule 4: what every hold consists of. The partition of the hold's host, cut to the hold: waiting pieces count as
 * nested waits, pieces of servers as their cost at low load plus the excess, work as service by the event loop.
 */
export function addHoldContents(
  pieces: HostPieces,
  requests: Requests,
  activity: Activity,
  index: QueueIndex,
  series: readonly Series[],
  baselines: Baselines,
): void {
  const { holds } = activity;
  if (holds.length === 0) return;
  const sums = new ContentSums(series);
  const contents = new Contents(pieces, requests, activity, index, series, baselines, sums);
  const byRequest = new ByRequest(holds, requests.count);
  const own: Hold[] = [];
  for (let request = 0; request < requests.count; request++) {
    const count = byRequest.countOf(request);
    if (count === 0 || requests.window[request] < 0) continue;
    own.length = 0;
    for (let k = 0; k < count; k++) own.push(holds.at(byRequest.at(request, k)));
    contents.addTogether(own, request);
    for (const { part, times } of stretchesOf(own, series)) contents.add(part, times);
  }
  sums.settle();
}

/** Sums the contents of holds into the series of their queues. */
class Contents {
  readonly #pieces: HostPieces;
  readonly #hosts: ByRequest;
  readonly #calls: ByRequest;
  readonly #waits: ByRequest;
  readonly #requests: Requests;
  readonly #series: readonly Series[];
  readonly #connectionNs: Float64Array;
  readonly #served: ServedInside;
  readonly #sums: ContentSums;
  /** By label: the index of its queue, -1 without one; and the sums of what it is in the holds of each queue. */
  readonly #queue: Int32Array;
  readonly #content: (SteadySum | undefined)[][];
  /** By queue and instance: the sums of holds without a key, or with one that is not looked at by itself. */
  readonly #lanes: (readonly LaneSums[] | undefined)[][];

  constructor(
    pieces: HostPieces,
    requests: Requests,
    activity: Activity,
    index: QueueIndex,
    series: readonly Series[],
    baselines: Baselines,
    sums: ContentSums,
  ) {
    const { labels } = pieces;
    this.#pieces = pieces;
    this.#hosts = new ByRequest(pieces.hosts, requests.count);
    this.#calls = new ByRequest(activity.calls, requests.count);
    this.#waits = new ByRequest(activity.waits, requests.count);
    this.#requests = requests;
    this.#series = series;
    this.#connectionNs = baselines.connectionNs;
    this.#served = new ServedInside(activity, baselines);
    this.#sums = sums;
    this.#queue = Int32Array.from(labels, (label) => queueOf(label, index));
    this.#content = series.map(() => []);
    this.#lanes = series.map(() => []);
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

  /** @param times how many holds it stands for */
  add(hold: Hold, times: number): void {
    const host = this.#hostOf(hold);
    if (host < 0) return;
    const { hosts, pieces, labels } = this.#pieces;
    const lanes = this.#lanesOf(hold);
    const { request } = hold;
    const { startNs, window } = this.#requests;
    const weight = times * this.#requests.weight[request];
    const w = window[request];
    // Relative to the start of the host's first piece, as its pieces are.
    const originNs = startNs[request] + hosts.startNs[host];
    const from = hold.startNs - originNs;
    const to = hold.endNs - originNs;
    const first = host === 0 ? 0 : hosts.piecesEnd[host - 1];
    const last = hosts.piecesEnd[host];
    let i = firstEndingAfter(pieces.endNs, first, last, from);
    let start = i === first ? 0 : pieces.endNs[i - 1];
    for (; i < last && start < to; i++) {
      const end = pieces.endNs[i];
      const ns = Math.min(end, to) - Math.max(start, from);
      start = end;
      if (ns <= 0) continue;
      const label = pieces.label[i];
      const { segment } = labels[label];
      const queue = this.#queue[label];
      const weighted = ns * weight;
      const content = this.#content[hold.queue];
      const named = content[label];
      if (named !== undefined) this.#sums.addAgain(hold.queue, named, request, weighted);
      else
        content[label] = this.#sums.addNamed(
          hold.queue,
          this.#contentOf(hold.queue, label),
          request,
          weighted,
        );
      if (segment === CONNECTION_WAIT) {
        const wait = this.#waits.at(request, pieces.served[i]);
        if (wait >= 0 && !Number.isNaN(this.#connectionNs[wait])) this.#served.connection(wait, ns);
      } else if (isWait(segment)) {
        if (queue < 0 || queue === hold.queue) continue;
        for (const lane of lanes) lane.nested.add(queue, request, w, weighted);
      } else if (segment === WORK) {
        if (queue < 0 || queue === hold.queue) continue;
        for (const lane of lanes) lane.service.add(queue, request, w, weighted);
      } else if (segment === DOWNSTREAM || segment === NETWORK) {
        const call = this.#calls.at(request, pieces.served[i]);
        if (call >= 0) this.#served.call(call, ns);
      }
    }
    this.#served.addTo(lanes, request, w, weight);
  }

  /** @returns the sums of the lanes a hold belongs to. */
  #lanesOf(hold: Hold): readonly LaneSums[] {
    const own = this.#series[hold.queue];
    const isHot = hold.key !== null && own.keys.some(({ key }) => key === hold.key);
    return isHot ? this.#sumsOf(hold) : (this.#lanes[hold.queue][hold.instance] ??= this.#sumsOf(hold));
  }

  #sumsOf(hold: Hold): readonly LaneSums[] {
    const own = this.#series[hold.queue];
    const lanes = lanesOf(own, hold);
    if (own.instances.length === 1) {
      // All there is of the queue is in the only process of it.
      const [instance] = lanes.splice(1, 1);
      this.#sums.alike(instance, this.#sums.of(own));
    }
    return lanes.map((lane) => this.#sums.of(lane));
  }

  /** @returns the host of a hold; -1 where nothing of it lies in the hold. */
  #hostOf({ request, host }: Hold): number {
    const { row } = this.#pieces.hosts;
    const count = this.#hosts.countOf(request);
    for (let k = 0; k < count; k++) {
      const i = this.#hosts.at(request, k);
      if (row[i] === host) return i;
    }
    return -1;
  }

  #contentOf(queue: number, label: number): Content {
    const at = this.#queue[label];
    const waitedFor = at < 0 ? null : this.#series[at].queue;
    return contentOf(this.#series[queue].queue, this.#pieces.labels[label], waitedFor);
  }
}

function queueOf({ queue }: Label, index: QueueIndex): number {
  if (queue === null || typeof queue === 'number') return queue ?? -1;
  return index.find(queue.kind, queue.name, queue.service);
}

/** @returns the first of ordered pieces that ends after a time. */
function firstEndingAfter(endNs: ArrayLike<number>, from: number, to: number, time: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (endNs[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
