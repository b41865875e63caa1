import {
  PREFIX_HTTP_AGENT,
  PREFIX_LOCK,
  RESOURCE_EVENT_LOOP,
  SEGMENTS,
  WAIT_SEGMENTS,
} from '@waitfall/instrumentation/conventions';
import type { Classes, SegmentName } from '../classify/types.ts';
import { KIND } from '../model/span.ts';
import type { Piece } from '../partition/types.ts';
import type { Forest } from '../tree/types.ts';
import type { Activity, Hold, Queue } from './activity.ts';
import type { Baselines } from './opaque.ts';
import { Children } from './pieces.ts';
import type { QueueIndex } from './queue-index.ts';
import { kindOfSegment } from './queue-kind.ts';
import type { Requests } from './requests-types.ts';
import { addTo, lanesOf, type Series } from './series.ts';
import { type Statement, StatementReader } from './statement.ts';

/** A stretch of a span that is really something else: how rebuilt waits get into the pieces (official spans only). */
export interface Overlay {
  readonly start: number;
  readonly end: number;
  readonly segment: SegmentName;
  /** Index of the queue waited for; -1 for service. */
  readonly queue: number;
}

const WAITS = new Set<string>(WAIT_SEGMENTS);
/** A call of which less lies inside the hold than this share of it began or ended outside. */
const MOSTLY_INSIDE = 0.5;

/**
 * Rule 4: what every hold consists of. The partition of the hold's host, cut to the hold: waiting pieces count as
 * nested waits, pieces of servers as their cost at low load plus the excess, work as service by the event loop.
 */
export function addHoldContents(
  forest: Forest,
  classes: Classes,
  requests: Requests,
  activity: Activity,
  index: QueueIndex,
  series: readonly Series[],
  baselines: Baselines,
  overlays: ReadonlyMap<number, readonly Overlay[]>,
): void {
  const byRequest = new Map<number, Hold[]>();
  for (const hold of activity.holds) {
    const list = byRequest.get(hold.request);
    if (list) list.push(hold);
    else byRequest.set(hold.request, [hold]);
  }
  const windows = series[0]?.holds.length ?? 0;
  const children = new Children(forest);
  const statements = new StatementReader(forest.table);
  for (const [request, holds] of byRequest) {
    const w = requests.window[request];
    if (w < 0) continue;
    const weight = requests.weight[request];
    addTogether(holds, w, weight, windows, series);
    const cache = new Map<number, Labelled[]>();
    for (const hold of holds) {
      let pieces = cache.get(hold.host);
      if (!pieces) {
        pieces = children
          .piecesUnder(hold.host)
          .flatMap((piece) => labelled(piece, forest, classes, index, overlays));
        cache.set(hold.host, pieces);
      }
      addOne(
        hold,
        pieces,
        request,
        w,
        weight,
        windows,
        forest,
        requests,
        activity,
        series,
        baselines,
        statements,
      );
    }
  }
}

/** Which holds of one request overlap: what a change of one does to the other (what-if) follows from it. */
function addTogether(
  holds: readonly Hold[],
  w: number,
  weight: number,
  windows: number,
  series: readonly Series[],
): void {
  const byStart = [...holds].sort((a, b) => a.startNs - b.startNs);
  for (const [i, a] of byStart.entries()) {
    for (let j = i + 1; j < byStart.length && byStart[j].startNs < a.endNs; j++) {
      const b = byStart[j];
      if (a.queue === b.queue) continue;
      const ns = Math.min(a.endNs, b.endNs) - b.startNs;
      if (ns <= 0) continue;
      addTo(series[a.queue].togetherNs, b.queue, w, ns * weight, windows);
      addTo(series[b.queue].togetherNs, a.queue, w, ns * weight, windows);
    }
  }
}

interface Labelled extends Piece {
  readonly segment: SegmentName;
  readonly queue: number;
}

function labelled(
  piece: Piece,
  forest: Forest,
  classes: Classes,
  index: QueueIndex,
  overlays: ReadonlyMap<number, readonly Overlay[]>,
): Labelled[] {
  const { row } = piece;
  const { table } = forest;
  const segment = SEGMENTS[classes.segment[row]];
  const service = table.resources[table.resource[row]].service;
  const resource = classes.resource[row];
  let queue = -1;
  if (segment === 'work' || segment === 'runtime_pause') {
    queue = index.find('eventloop', RESOURCE_EVENT_LOOP, service);
  } else if (WAITS.has(segment) || segment === 'downstream') {
    const kind = kindOfSegment(segment);
    if (resource >= 0 || kind === 'eventloop') {
      queue = index.find(kind, resource >= 0 ? classes.resources[resource] : RESOURCE_EVENT_LOOP, service);
    }
  }
  const over = overlays.get(row);
  if (!over) return [{ ...piece, segment, queue }];
  const out: Labelled[] = [];
  let at = piece.start;
  for (const cut of over) {
    const start = Math.max(cut.start, at);
    const end = Math.min(cut.end, piece.end);
    if (end <= start) continue;
    if (start > at) out.push({ row, start: at, end: start, segment, queue });
    out.push({ row, start, end, segment: cut.segment, queue: cut.queue });
    at = end;
  }
  if (piece.end > at) out.push({ row, start: at, end: piece.end, segment, queue });
  return out;
}

/** @returns the index of the first of ordered, disjoint pieces that ends after a time. */
function firstEndingAfter(pieces: readonly Piece[], time: number): number {
  let low = 0;
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pieces[middle].end > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

function addOne(
  hold: Hold,
  pieces: readonly Labelled[],
  request: number,
  w: number,
  weight: number,
  windows: number,
  forest: Forest,
  requests: Requests,
  activity: Activity,
  series: readonly Series[],
  baselines: Baselines,
  statements: StatementReader,
): void {
  const own = series[hold.queue];
  const lanes = lanesOf(own, hold);
  const from = hold.startNs - requests.startNs[request];
  const to = hold.endNs - requests.startNs[request];
  /** Index of a call or connection wait to the ns of it inside this hold. */
  const callNs = new Map<number, number>();
  const connectNs = new Map<number, number>();
  for (let i = firstEndingAfter(pieces, from); i < pieces.length && pieces[i].start < to; i++) {
    const piece = pieces[i];
    const ns = Math.min(piece.end, to) - Math.max(piece.start, from);
    if (ns <= 0) continue;
    addContent(own, piece, ns * weight, forest, series, statements);
    const waiting = WAITS.has(piece.segment);
    if (waiting && piece.segment === 'connection_wait') {
      const wait = baselines.waitOfRow.of(piece.row);
      if (wait >= 0) connectNs.set(wait, (connectNs.get(wait) ?? 0) + ns);
    } else if (waiting && piece.queue >= 0) {
      if (piece.queue === hold.queue) continue;
      for (const lane of lanes) addTo(lane.nestedNs, piece.queue, w, ns * weight, windows);
    } else if (piece.segment === 'work' && piece.queue >= 0) {
      for (const lane of lanes) addTo(lane.serviceNs, piece.queue, w, ns * weight, windows);
    } else if (piece.segment === 'downstream') {
      const call = callAbove(piece.row, forest, baselines);
      if (call !== undefined) callNs.set(call, (callNs.get(call) ?? 0) + ns);
    }
  }
  for (const [i, insideNs] of callNs) {
    const call = activity.calls.at(i);
    addServed(lanes, call.queue, insideNs, call.durationNs, baselines.callNs[i], w, weight, windows);
  }
  for (const [i, insideNs] of connectNs) {
    const wait = activity.waits.at(i);
    addServed(
      lanes,
      wait.queue,
      insideNs,
      wait.endNs - wait.startNs,
      baselines.connectionNs[i],
      w,
      weight,
      windows,
    );
  }
}

/** Splits the time of one call inside a hold into its cost at low load and the (signed) excess. */
function addServed(
  lanes: readonly { nestedNs: Map<number, Float64Array>; serviceNs: Map<number, Float64Array> }[],
  queue: number,
  insideNs: number,
  durationNs: number,
  baseNs: number,
  w: number,
  weight: number,
  windows: number,
): void {
  if (insideNs <= MOSTLY_INSIDE * durationNs && durationNs <= baseNs) return;
  const serviceNs = Math.min(insideNs, baseNs);
  // A call faster than its mean at low load: negative excess, so that the mean excess there is 0.
  const faster = insideNs < baseNs && insideNs > 0.9 * durationNs ? baseNs - insideNs : 0;
  for (const lane of lanes) {
    addTo(lane.serviceNs, queue, w, serviceNs * weight, windows);
    addTo(lane.nestedNs, queue, w, (insideNs - serviceNs - faster) * weight, windows);
  }
}

function callAbove(row: number, forest: Forest, baselines: Baselines): number | undefined {
  for (let up = row; up >= 0; up = forest.parent[up]) {
    const call = baselines.callOfRow.of(up);
    if (call >= 0) return call;
  }
  return undefined;
}

/** Names a piece for the composition of a hold: waits by queue, statements by verb and relation, calls by span name. */
function addContent(
  own: Series,
  piece: Labelled,
  ns: number,
  forest: Forest,
  series: readonly Series[],
  statements: StatementReader,
): void {
  const queue = piece.queue >= 0 ? series[piece.queue].queue : null;
  let what: string = piece.segment;
  let movable = false;
  if (WAITS.has(piece.segment)) what = `${piece.segment} ${queue ? queue.name : ''}`.trim();
  else if (piece.segment === 'downstream') {
    const statement = statements.of(piece.row);
    what = statement?.relation
      ? `${statement.verb} ${statement.relation}`.trim()
      : statement?.verb
        ? statement.verb
        : forest.table.strings.text(forest.table.name[piece.row]);
    movable = forest.table.kind[piece.row] === KIND.client && isMovable(own.queue, statement);
  }
  const entry = own.contents.get(what);
  if (entry) entry.ns += ns;
  else own.contents.set(what, { ns, movable });
}

/**
 * Whether a call inside a hold does without the resource: a statement on another relation than the locked one, or, in a
 * row lock or on a pooled database connection, a call to something that is no database.
 */
function isMovable(queue: Queue, statement: Statement | null): boolean {
  if (queue.kind === 'lock') {
    if (statement === null) return true;
    const locked = queue.name.slice(PREFIX_LOCK.length);
    return statement.relation !== '' && bare(statement.relation) !== bare(locked);
  }
  return queue.kind === 'pool' && !queue.name.startsWith(PREFIX_HTTP_AGENT) && statement === null;
}

/** Without a schema in front. */
function bare(relation: string): string {
  return relation.slice(relation.lastIndexOf('.') + 1).toLowerCase();
}
