import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { PairIds } from '../model/pair-ids.ts';
import { RowIndex } from '../model/row-index.ts';
import { KIND } from '../model/span.ts';
import type { Activity } from './activity.ts';
import type { CallList } from './call-list.ts';
import type { PartReaders } from './collect-activity.ts';
import { CONNECTION_WAIT, DOWNSTREAM, type HostPieces, NETWORK, type Overlay } from './host-pieces.ts';
import { Children } from './pieces.ts';
import type { SpanQueues } from './span-queues.ts';
import type { StatementReader } from './statement.ts';
import type { TreePart } from './tree-parts.ts';
import type { WaitList } from './wait-list.ts';

/** Which of the records of an input are looked at: those of the part from these indexes on. */
export interface Since {
  readonly waits: number;
  readonly calls: number;
}

/**
 * Cuts the spans up under which the holds given were held.
 *
 * @param holds indexes of holds of this part, by request
 * @param since calls and waits of the part stand from here on
 * @param startNsOf start of a request, relative to the same as the times of the holds
 */
export function cutHosts(
  into: HostPieces,
  part: Pick<TreePart, 'forest' | 'classes' | 'firstRow'>,
  readers: PartReaders,
  activity: Activity,
  holds: Int32Array,
  since: Since,
  startNsOf: (request: number) => number,
  overlays: ReadonlyMap<number, readonly Overlay[]> = NO_OVERLAYS,
): void {
  if (holds.length === 0) return;
  const { request, host, startNs, endNs } = activity.holds;
  const cutter = new Cutter(into, part, readers, activity, since, overlays);
  /** Hosts of one request, and between which times they held. */
  const own = new Map<number, { from: number; to: number }>();
  for (let k = 0; k < holds.length; k++) {
    const i = holds[k];
    const originNs = startNsOf(request[i]);
    const from = startNs[i] - originNs;
    const to = endNs[i] - originNs;
    const known = own.get(host[i]);
    if (known === undefined) own.set(host[i], { from, to });
    else {
      known.from = Math.min(known.from, from);
      known.to = Math.max(known.to, to);
    }
    if (k + 1 < holds.length && request[holds[k + 1]] === request[i]) continue;
    for (const [row, { from, to }] of own) cutter.cut(request[i], row, from, to);
    own.clear();
  }
  cutter.giveBack();
}

const NO_OVERLAYS: ReadonlyMap<number, readonly Overlay[]> = new Map();
const NONE: readonly Overlay[] = [];

class Cutter {
  readonly #into: HostPieces;
  readonly #part: Pick<TreePart, 'forest' | 'classes' | 'firstRow'>;
  readonly #overlays: ReadonlyMap<number, readonly Overlay[]>;
  readonly #children: Children;
  readonly #queues: SpanQueues;
  readonly #statements: StatementReader;
  /** Labels by number of (queue, what is called) and by number of (queue of an overlay, row). */
  readonly #said = new PairIds();
  readonly #labels: number[] = [];
  /** By row of the part: the how-manieth of its request its call is, and its wait for a connection. */
  readonly #callOfRow = new RowIndex();
  readonly #connectionOfRow = new RowIndex();
  /** What of the host being cut is kept, and the piece that is still growing. */
  #from = 0;
  #to = 0;
  #startNs = 0;
  #endNs = 0;
  #label = -1;
  #served = -1;

  constructor(
    into: HostPieces,
    part: Pick<TreePart, 'forest' | 'classes' | 'firstRow'>,
    { queues, statements }: PartReaders,
    { calls, waits }: Activity,
    since: Since,
    overlays: ReadonlyMap<number, readonly Overlay[]>,
  ) {
    const { forest, classes } = part;
    this.#into = into;
    this.#part = part;
    this.#overlays = overlays;
    this.#children = new Children(forest);
    this.#queues = queues;
    this.#statements = statements;
    numberInRequest(calls, since.calls, part, (row, number) => {
      this.#callOfRow.set(row, number);
      // The way to a called service is part of its call.
      const caller = forest.parent[row];
      if (caller >= 0 && classes.segment[caller] === NETWORK) this.#callOfRow.set(caller, number);
    });
    if (!classes.segment.includes(CONNECTION_WAIT)) return;
    numberInRequest(waits, since.waits, part, (row, number) => this.#connectionOfRow.set(row, number));
  }

  giveBack(): void {
    this.#children.giveBack();
  }

  /** Adds the pieces of a host between two times. */
  cut(request: number, hostRow: number, from: number, to: number): void {
    const { pieces, hosts } = this.#into;
    this.#from = from;
    this.#to = to;
    this.#label = -1;
    this.#startNs = Number.NaN;
    this.#children.visitPieces(hostRow - this.#part.firstRow, this.#visit);
    if (this.#label < 0) return;
    pieces.add(this.#endNs - this.#startNs, this.#label, this.#served);
    hosts.push({ request, row: hostRow, startNs: this.#startNs, piecesEnd: pieces.length });
  }

  readonly #visit = (row: number, start: number, end: number): void => {
    if (end <= this.#from || start >= this.#to) return;
    let at = start;
    const over = this.#overlays.size === 0 ? undefined : this.#overlays.get(row);
    for (const one of over ?? NONE) {
      const cutStart = Math.max(one.start, at);
      const cutEnd = Math.min(one.end, end);
      if (cutEnd <= cutStart) continue;
      if (cutStart > at) this.#add(row, at, cutStart, this.#labelOf(row));
      this.#add(row, cutStart, cutEnd, this.#labelOver(row, one));
      at = cutEnd;
    }
    if (end > at) this.#add(row, at, end, this.#labelOf(row));
  };

  #add(row: number, start: number, end: number, label: number): void {
    const served = this.#servedBy(row, this.#into.labels[label].segment);
    if (this.#label === label && this.#served === served) {
      this.#endNs = end;
      return;
    }
    if (this.#label < 0) this.#startNs = start;
    else this.#into.pieces.add(this.#endNs - this.#startNs, this.#label, this.#served);
    this.#endNs = end;
    this.#label = label;
    this.#served = served;
  }

  #servedBy(row: number, segment: number): number {
    if (segment === CONNECTION_WAIT) return this.#connectionOfRow.of(row);
    if (segment === NETWORK) return this.#callOfRow.of(row);
    if (segment !== DOWNSTREAM) return -1;
    const { parent } = this.#part.forest;
    for (let up = row; up >= 0; up = parent[up]) {
      const call = this.#callOfRow.of(up);
      if (call >= 0) return call;
    }
    return -1;
  }

  #labelOf(row: number): number {
    const { classes } = this.#part;
    const segment = classes.segment[row];
    const said = segment === DOWNSTREAM ? 1 + this.#callNumber(row) : 0;
    const number = this.#said.of(this.#queues.number(row), said);
    let label = this.#labels[number];
    if (label === undefined) {
      label = this.#into.label({
        segment,
        queue: this.#queues.named(row),
        call: segment === DOWNSTREAM ? this.#call(row) : null,
      });
      this.#labels[number] = label;
    }
    return label;
  }

  #labelOver(row: number, { segment, queue }: Overlay): number {
    const index = SEGMENTS.indexOf(segment);
    return this.#into.label({
      segment: index,
      queue: queue < 0 ? null : queue,
      call: index === DOWNSTREAM ? this.#call(row) : null,
    });
  }

  #callNumber(row: number): number {
    return this.#statements.callNumber(row) * 2 + (this.#isClient(row) ? 1 : 0);
  }

  #call(row: number) {
    const { table } = this.#part.forest;
    return {
      isClient: this.#isClient(row),
      name: table.strings.text(table.name[row]),
      statement: this.#statements.of(row),
    };
  }

  #isClient(row: number): boolean {
    const { table } = this.#part.forest;
    return table.kind[row] === KIND.client;
  }
}

/** Tells of the records of a part, in their order, in which row each stands and the how-manieth of its request it is. */
function numberInRequest(
  { request, row, length }: CallList | WaitList,
  from: number,
  { forest, firstRow }: Pick<TreePart, 'forest' | 'firstRow'>,
  tell: (row: number, number: number) => void,
): void {
  let [least, most] = [Number.POSITIVE_INFINITY, -1];
  for (let i = from; i < length; i++) {
    least = Math.min(least, request[i]);
    most = Math.max(most, request[i]);
  }
  const counts = new Int32Array(Math.max(0, most - least + 1));
  for (let i = from; i < length; i++) {
    const number = counts[request[i] - least]++;
    const own = row[i] - firstRow;
    if (own >= 0 && own < forest.table.length) tell(own, number);
  }
}
