import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import type { SegmentName } from '../classify/types.ts';
import type { HoldList } from './hold-list.ts';
import { FIRST, type PackedRecords, RecordList } from './record-list.ts';
import { orderByRequest } from './sort-records.ts';
import type { NamedQueue } from './span-queues.ts';
import type { Statement } from './statement.ts';

/** What the time of a piece means. Which queue a name is, is known when all of an input has been read. */
export interface Label {
  /** Index into SEGMENTS. */
  readonly segment: number;
  /** The queue it belongs to; by number where it was rebuilt; null: none. */
  readonly queue: NamedQueue | number | null;
  /** Calls to servers: what they are. */
  readonly call: CallLabel | null;
}

export interface CallLabel {
  readonly isClient: boolean;
  readonly name: string;
  readonly statement: Statement | null;
}

/** A stretch of a span that is really something else: how rebuilt waits get into the pieces (official spans only). */
export interface Overlay {
  readonly start: number;
  readonly end: number;
  readonly segment: SegmentName;
  /** Index of the queue waited for; -1 for service. */
  readonly queue: number;
}

export const DOWNSTREAM = SEGMENTS.indexOf('downstream');
export const NETWORK = SEGMENTS.indexOf('network');
export const CONNECTION_WAIT = SEGMENTS.indexOf('connection_wait');

/** A span under which a request held something, and where its pieces stand. */
interface Host {
  readonly request: number;
  readonly row: number;
  /** Start of its first piece, ns relative to the start of the request. */
  readonly startNs: number;
  /** The first piece that is not its own any more; the first of its own follows those of the host before. */
  readonly piecesEnd: number;
}

class HostList extends RecordList<Host> {
  request: Int32Array = new Int32Array(FIRST);
  row: Int32Array = new Int32Array(FIRST);
  startNs: Float64Array = new Float64Array(FIRST);
  piecesEnd: Uint32Array = new Uint32Array(FIRST);

  push(host: Host): void {
    const i = this.next(this.request.length);
    this.request[i] = host.request;
    this.row[i] = host.row;
    this.startNs[i] = host.startNs;
    this.piecesEnd[i] = host.piecesEnd;
  }

  at(i: number): Host {
    return {
      request: this.request[i],
      row: this.row[i],
      startNs: this.startNs[i],
      piecesEnd: this.piecesEnd[i],
    };
  }
}

/** A stretch of a host that one span owns; it begins where the one before ends. */
interface HostPiece {
  /** ns after the start of the host's first piece. */
  readonly endNs: number;
  /** Index into the labels. */
  readonly label: number;
  /** The how-manieth call of its request it is part of, or wait for a connection; -1: none. */
  readonly served: number;
}

class HostPieceList extends RecordList<HostPiece> {
  /** Wider as soon as a number does not fit: there are more of these records than of any other. */
  endNs: Uint32Array | Float64Array = new Uint32Array(FIRST);
  label: Uint16Array | Uint32Array = new Uint16Array(FIRST);
  served: Int16Array | Int32Array = new Int16Array(FIRST);

  push({ endNs, label, served }: HostPiece): void {
    this.add(endNs, label, served);
  }

  add(endNs: number, label: number, served: number): void {
    const i = this.next(this.endNs.length);
    this.endNs[i] = endNs;
    if (this.endNs[i] !== endNs) (this.endNs = Float64Array.from(this.endNs))[i] = endNs;
    this.setLabel(i, label);
    this.served[i] = served;
    if (this.served[i] !== served) (this.served = Int32Array.from(this.served))[i] = served;
  }

  setLabel(i: number, label: number): void {
    this.label[i] = label;
    if (this.label[i] !== label) (this.label = Uint32Array.from(this.label))[i] = label;
  }

  at(i: number): HostPiece {
    return { endNs: this.endNs[i], label: this.label[i], served: this.served[i] };
  }
}

/**
 * What happened under the spans in which requests held something: all that is needed of their trees to say what the holds
 * consist of, once it is known what calls cost at low load.
 */
export class HostPieces {
  readonly hosts = new HostList();
  readonly pieces = new HostPieceList();
  readonly labels: Label[] = [];
  readonly #labelIds = new Map<string, number>();

  /** @returns the number of a label. */
  label(label: Label): number {
    const text = JSON.stringify(label);
    let id = this.#labelIds.get(text);
    if (id === undefined) {
      id = this.labels.push(label) - 1;
      this.#labelIds.set(text, id);
    }
    return id;
  }

  pack(): PackedPieces {
    return { hosts: this.hosts.pack(), pieces: this.pieces.pack(), labels: this.labels };
  }

  /** Adds those of other parts. @param firstRequest number of their first request here */
  merge({ hosts, pieces, labels }: PackedPieces, firstRequest: number): void {
    const label = labels.map((one) => this.label(one));
    const firstPiece = this.pieces.append(pieces);
    for (let i = firstPiece; i < this.pieces.length; i++)
      this.pieces.setLabel(i, label[this.pieces.label[i]]);
    for (let i = this.hosts.append(hosts); i < this.hosts.length; i++) {
      this.hosts.request[i] += firstRequest;
      this.hosts.piecesEnd[i] += firstPiece;
    }
  }
}

/** To be handed to another thread. */
export interface PackedPieces {
  readonly hosts: PackedRecords;
  readonly pieces: PackedRecords;
  readonly labels: readonly Label[];
}

/** @returns the holds from an index on, by request; those of one request as they come. */
export function byRequest(holds: HoldList, from = 0): Int32Array {
  const order = Int32Array.from({ length: holds.length - from }, (_, i) => from + i);
  orderByRequest(holds.request, order);
  return order;
}
