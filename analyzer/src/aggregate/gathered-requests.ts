import { indexesTo, sortByKey } from '../model/ordering.ts';
import { FLAG, type SpanTable } from '../model/span-table.ts';
import type { Forest } from '../tree/types.ts';
import type { Parts, SegmentKey } from './groups.ts';
import { FIRST, type PackedRecords, RecordList } from './record-list.ts';
import type { Requests } from './requests-types.ts';

/** Nanoseconds since the earliest start are exact up to here: 104 days. */
const EXACT_SECONDS = 9e6;

interface RequestRecord {
  readonly startSec: number;
  readonly startNs: number;
  readonly durationNs: number;
  readonly outcome: number;
  readonly route: number;
  readonly weight: number;
  readonly parallelNs: number;
  /** Up to which entry of the parts its own go. */
  readonly partsEnd: number;
  /** Trace id as four words, span id of the root as two; 0 where they are opaque texts. */
  readonly trace: readonly [number, number, number, number];
  readonly span: readonly [number, number];
}

class RequestList extends RecordList<never> {
  startSec: Uint32Array = new Uint32Array(FIRST);
  startNs: Uint32Array = new Uint32Array(FIRST);
  durationNs: Float64Array = new Float64Array(FIRST);
  outcome: Uint8Array = new Uint8Array(FIRST);
  route: Int32Array = new Int32Array(FIRST);
  weight: Float64Array = new Float64Array(FIRST);
  parallelNs: Float64Array = new Float64Array(FIRST);
  partsEnd: Uint32Array = new Uint32Array(FIRST);
  trace0: Uint32Array = new Uint32Array(FIRST);
  trace1: Uint32Array = new Uint32Array(FIRST);
  trace2: Uint32Array = new Uint32Array(FIRST);
  trace3: Uint32Array = new Uint32Array(FIRST);
  span0: Uint32Array = new Uint32Array(FIRST);
  span1: Uint32Array = new Uint32Array(FIRST);

  add(record: RequestRecord): number {
    const i = this.next(this.startSec.length);
    this.startSec[i] = record.startSec;
    this.startNs[i] = record.startNs;
    this.durationNs[i] = record.durationNs;
    this.outcome[i] = record.outcome;
    this.route[i] = record.route;
    this.weight[i] = record.weight;
    this.parallelNs[i] = record.parallelNs;
    this.partsEnd[i] = record.partsEnd;
    [this.trace0[i], this.trace1[i], this.trace2[i], this.trace3[i]] = record.trace;
    [this.span0[i], this.span1[i]] = record.span;
    return i;
  }

  push(): never {
    throw new Error('requests come with their trees');
  }

  at(): never {
    throw new Error('requests are read by column');
  }
}

class PartList extends RecordList<{ readonly key: number; readonly ns: number }> {
  key: Uint32Array = new Uint32Array(FIRST);
  ns: Float64Array = new Float64Array(FIRST);

  push({ key, ns }: { readonly key: number; readonly ns: number }): void {
    const i = this.next(this.key.length);
    this.key[i] = key;
    this.ns[i] = ns;
  }

  at(i: number): { readonly key: number; readonly ns: number } {
    return { key: this.key[i], ns: this.ns[i] };
  }
}

/** The requests of some parts, to be handed to another thread. */
export interface PackedRequests {
  readonly list: PackedRecords;
  readonly parts: PackedRecords;
  readonly keys: readonly SegmentKey[];
  readonly opaqueTrace: ReadonlyMap<number, string>;
  readonly opaqueSpan: ReadonlyMap<number, string>;
  readonly chosenWithoutWeight: number;
}

/** The requests of an input whose trees come part by part, and what each consists of. */
export class GatheredRequests {
  readonly #list = new RequestList();
  readonly #parts = new PartList();
  readonly #keys: SegmentKey[] = [];
  readonly #keyIds = new Map<string, number>();
  /** Ids that are no hexadecimal numbers, by request. */
  readonly #opaqueTrace = new Map<number, string>();
  readonly #opaqueSpan = new Map<number, string>();
  #chosenWithoutWeight = 0;

  get length(): number {
    return this.#list.length;
  }

  /** Makes room for so many times the requests there are. */
  reserve(times: number): void {
    for (const list of [this.#list, this.#parts]) list.reserve(Math.ceil(list.length * times));
  }

  /** Adds the requests of one part, in its order. */
  add({ table, trees }: Forest, requests: Requests, parts: Parts): void {
    const keyOf = parts.keys.map((key) => this.#keyId(key));
    for (let i = 0; i < requests.count; i++) {
      const t = requests.tree[i];
      const { root } = trees[t];
      for (let e = parts.offset[t]; e < parts.offset[t + 1]; e++) {
        this.#parts.push({ key: keyOf[parts.key[e]], ns: parts.ns[e] });
      }
      const trace = table.traceIds[table.trace[root]];
      const words = wordsOf(trace);
      const isOpaque = (table.flags[root] & FLAG.opaqueId) !== 0;
      const at = this.#list.add({
        startSec: table.startSec[root],
        startNs: table.startNs[root],
        durationNs: requests.durationNs[i],
        outcome: requests.outcome[i],
        route: requests.route[i],
        weight: requests.weight[i],
        parallelNs: parts.parallelNs[t],
        partsEnd: this.#parts.length,
        trace: words ?? [0, 0, 0, 0],
        span: isOpaque ? [0, 0] : [table.spanHi[root], table.spanLo[root]],
      });
      if (words === null) this.#opaqueTrace.set(at, trace);
      if (isOpaque) this.#opaqueSpan.set(at, opaqueSpan(table, root));
    }
    this.#chosenWithoutWeight += requests.chosenWithoutWeight;
  }

  pack(): PackedRequests {
    return {
      list: this.#list.pack(),
      parts: this.#parts.pack(),
      keys: this.#keys,
      opaqueTrace: this.#opaqueTrace,
      opaqueSpan: this.#opaqueSpan,
      chosenWithoutWeight: this.#chosenWithoutWeight,
    };
  }

  /** Adds the requests of other parts. @param routes the number here of each of their routes */
  merge(other: PackedRequests, routes: readonly number[]): void {
    const keys = other.keys.map((key) => this.#keyId(key));
    const firstPart = this.#parts.append(other.parts);
    for (let e = firstPart; e < this.#parts.length; e++) this.#parts.key[e] = keys[this.#parts.key[e]];
    const list = this.#list;
    const first = list.append(other.list);
    for (let i = first; i < list.length; i++) {
      list.route[i] = routes[list.route[i]];
      list.partsEnd[i] += firstPart;
    }
    for (const [i, id] of other.opaqueTrace) this.#opaqueTrace.set(first + i, id);
    for (const [i, id] of other.opaqueSpan) this.#opaqueSpan.set(first + i, id);
    this.#chosenWithoutWeight += other.chosenWithoutWeight;
  }

  /** @returns the requests in order of start, trace id and span id, as collected in one go from all trees. */
  inOrder(): Int32Array {
    const { startSec, startNs, length } = this.#list;
    const order = indexesTo(length);
    let [least, most] = [Number.POSITIVE_INFINITY, 0];
    for (let i = 0; i < length; i++) {
      least = Math.min(least, startSec[i]);
      most = Math.max(most, startSec[i]);
    }
    if (most - least > EXACT_SECONDS) return order.sort(this.#compare);
    const start = new Float64Array(length);
    for (let i = 0; i < length; i++) start[i] = (startSec[i] - least) * 1e9 + startNs[i];
    sortByKey(order, start);
    for (let from = 0, to = 1; from < length; from = to++) {
      while (to < length && start[order[to]] === start[order[from]]) to++;
      if (to - from > 1) order.subarray(from, to).sort(this.#compare);
    }
    return order;
  }

  readonly #compare = (a: number, b: number): number => {
    const { startSec, startNs, trace0, trace1, trace2, trace3 } = this.#list;
    return (
      startSec[a] - startSec[b] ||
      startNs[a] - startNs[b] ||
      (this.#opaqueTrace.size > 0
        ? compareText(this.#traceText(a), this.#traceText(b))
        : trace0[a] - trace0[b] || trace1[a] - trace1[b] || trace2[a] - trace2[b] || trace3[a] - trace3[b]) ||
      compareText(this.#spanText(a), this.#spanText(b))
    );
  };

  /**
   * @param order as {@link inOrder}
   * @param routes names of the routes by number
   * @returns the requests, whose `tree` is the number under which their parts stand
   */
  settle(
    order: Int32Array,
    routes: readonly string[],
    shared: Pick<Requests, 'outcomes' | 'substitutes'>,
  ): Requests {
    const list = this.#list;
    const first = order[0] ?? -1;
    const [sec, ns] = first < 0 ? [0, 0] : [list.startSec[first], list.startNs[first]];
    const startNs = new Float64Array(order.length);
    for (let i = 0; i < order.length; i++)
      startNs[i] = (list.startSec[order[i]] - sec) * 1e9 + list.startNs[order[i]] - ns;
    const routeIds = new Map<number, number>();
    const names: string[] = [];
    const route = new Int32Array(order.length);
    for (let i = 0; i < order.length; i++) {
      const old = list.route[order[i]];
      let id = routeIds.get(old);
      if (id === undefined) {
        id = names.push(routes[old]) - 1;
        routeIds.set(old, id);
      }
      route[i] = id;
    }
    return {
      count: order.length,
      originUnixNano: BigInt(sec) * 1_000_000_000n + BigInt(ns),
      tree: order,
      startNs,
      durationNs: inThatOrder(order, list.durationNs, new Float64Array(order.length)),
      outcome: inThatOrder(order, list.outcome, new Uint8Array(order.length)),
      route,
      routes: names,
      weight: inThatOrder(order, list.weight, new Float64Array(order.length)),
      chosenWithoutWeight: this.#chosenWithoutWeight,
      window: new Int32Array(order.length).fill(-1),
      ...shared,
    };
  }

  /** Lets go of what the settled requests say themselves. Only parts and ids can be asked for from here on. */
  forget(): void {
    const none = new RequestList();
    const list = this.#list;
    list.startSec = none.startSec;
    list.startNs = none.startNs;
    list.durationNs = none.durationNs;
    list.outcome = none.outcome;
    list.route = none.route;
    list.weight = none.weight;
    list.span0 = none.span0;
    list.span1 = none.span1;
  }

  /** @returns what each request consists of, by its number here. */
  parts(): Parts {
    const { length, partsEnd, parallelNs } = this.#list;
    const offset = new Uint32Array(length + 1);
    offset.set(partsEnd.subarray(0, length), 1);
    return {
      keys: this.#keys,
      offset,
      key: this.#parts.key,
      ns: this.#parts.ns,
      parallelNs: parallelNs.subarray(0, length),
    };
  }

  /** @returns the trace id of a request, by its number here. */
  traceId(i: number): string {
    return this.#traceText(i);
  }

  #keyId(key: SegmentKey): number {
    const text = JSON.stringify([key.service, key.segment, key.resource]);
    let id = this.#keyIds.get(text);
    if (id === undefined) {
      id = this.#keys.push(key) - 1;
      this.#keyIds.set(text, id);
    }
    return id;
  }

  #traceText(i: number): string {
    const { trace0, trace1, trace2, trace3 } = this.#list;
    return (
      this.#opaqueTrace.get(i) ??
      [trace0[i], trace1[i], trace2[i], trace3[i]].map((one) => one.toString(16).padStart(8, '0')).join('')
    );
  }

  #spanText(i: number): string {
    const { span0, span1 } = this.#list;
    return (
      this.#opaqueSpan.get(i) ??
      span0[i].toString(16).padStart(8, '0') + span1[i].toString(16).padStart(8, '0')
    );
  }
}

/** @returns an id of 32 hexadecimal digits as four words, null for any other. */
function wordsOf(id: string): [number, number, number, number] | null {
  if (id.length !== 32) return null;
  const words: [number, number, number, number] = [0, 0, 0, 0];
  for (let i = 0; i < 32; i++) {
    const code = id.charCodeAt(i);
    const digit = code >= 48 && code <= 57 ? code - 48 : code >= 97 && code <= 102 ? code - 87 : -1;
    if (digit < 0) return null;
    words[i >> 3] = ((words[i >> 3] << 4) | digit) >>> 0;
  }
  return words;
}

function inThatOrder<T extends Float64Array | Uint8Array>(order: Int32Array, column: T, into: T): T {
  for (let i = 0; i < order.length; i++) into[i] = column[order[i]];
  return into;
}

function opaqueSpan(table: SpanTable, row: number): string {
  return table.strings.text(table.spanLo[row]);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
