import { ATTR_SEGMENT } from '@waitfall/instrumentation/conventions';
import { AttributeReader } from '../model/attribute-reader.ts';
import { Names } from '../model/names.ts';
import type { SpanTable } from '../model/span-table.ts';
import type { Activity } from './activity.ts';
import { CallList } from './call-list.ts';
import { HoldList } from './hold-list.ts';
import { HostPieces, type PackedPieces } from './host-pieces.ts';
import { OpenList, type ProcessRecords, ProfileList, StatedWorkList } from './process-records.ts';
import { type PackedQueues, QueueIndex } from './queue-index.ts';
import type { PackedRecords } from './record-list.ts';
import { SliceList } from './slice-list.ts';
import { orderByRequest, sortByRequest } from './sort-records.ts';
import { WaitList } from './wait-list.ts';

/** The step behind those of queue-index.ts: holds of single statements. */
export const AFTER_HOLDS = 4;

/** From this index on, the holds were found in this step. */
export interface HoldStep {
  readonly from: number;
  readonly step: number;
}

/** What was gathered from some parts of an input, to be handed to another thread. */
export interface PackedGathering {
  readonly index: PackedQueues;
  readonly lists: Readonly<Record<ListName, PackedRecords>>;
  readonly keys: readonly (string | null)[];
  readonly operations: readonly string[];
  readonly brokenHolds: number;
  readonly pieces: PackedPieces;
  readonly namedByHolds: ReadonlySet<string>;
  readonly holdSteps: readonly HoldStep[];
}

type ListName = 'waits' | 'holds' | 'work' | 'pauses' | 'calls' | 'statedWork' | 'open' | 'profiles';

/**
 * What is gathered from the trees of an input, in one go or part by part: rows and requests are numbered through all
 * parts.
 */
export class Gathering {
  readonly index = new QueueIndex();
  readonly operations = new Names();
  readonly activity: { -readonly [K in keyof Activity]: Activity[K] };
  readonly processes: ProcessRecords;
  /** What happened while something was held. */
  readonly pieces = new HostPieces();
  /** What spans of holds call what they held. */
  readonly namedByHolds = new Set<string>();
  readonly holdSteps: HoldStep[] = [];
  /** Numbers of the first row and request of the part being gathered. */
  firstRow = 0;
  firstRequest = 0;
  /** Lengths of the lists before it. */
  since = { waits: 0, holds: 0, calls: 0 };

  /** @param table any part of the input: all share texts and attribute keys. */
  constructor(table: SpanTable) {
    this.activity = {
      queues: this.index.queues,
      waits: new WaitList(),
      holds: new HoldList(),
      work: new SliceList(),
      pauses: new SliceList(),
      calls: new CallList(),
      operations: this.operations.list,
      stated: !new AttributeReader(table, ATTR_SEGMENT).isAbsent,
      brokenHolds: 0,
    };
    this.processes = {
      work: new StatedWorkList(),
      open: new OpenList(),
      profiles: new ProfileList(table.strings),
    };
  }

  /** What comes now is of the next part of the input. */
  startPart(part: number, firstRow: number, firstRequest: number): void {
    this.firstRow = firstRow;
    this.firstRequest = firstRequest;
    const { waits, holds, calls } = this.activity;
    this.since = { waits: waits.length, holds: holds.length, calls: calls.length };
    this.index.startPart(part);
  }

  /** Makes room for so many times the records there are. */
  reserve(times: number): void {
    const { waits, holds, work, pauses, calls } = this.activity;
    const { hosts, pieces } = this.pieces;
    for (const list of [waits, holds, work, pauses, calls, hosts, pieces, ...Object.values(this.processes)]) {
      list.reserve(Math.ceil(list.length * times));
    }
  }

  startStep(step: number): void {
    const last = this.holdSteps.at(-1);
    if (last?.step !== step) this.holdSteps.push({ from: this.activity.holds.length, step });
  }

  pack(): PackedGathering {
    const { waits, holds, work, pauses, calls, brokenHolds } = this.activity;
    const { work: statedWork, open, profiles } = this.processes;
    return {
      index: this.index.pack(),
      lists: {
        waits: waits.pack(),
        holds: holds.pack(),
        work: work.pack(),
        pauses: pauses.pack(),
        calls: calls.pack(),
        statedWork: statedWork.pack(),
        open: open.pack(),
        profiles: profiles.pack(),
      },
      keys: holds.keys,
      operations: this.operations.list,
      brokenHolds,
      pieces: this.pieces.pack(),
      namedByHolds: this.namedByHolds,
      holdSteps: this.holdSteps,
    };
  }

  /** Adds what was gathered from other parts. @param firstRequest number of their first request here */
  merge(other: PackedGathering, firstRequest: number): void {
    const { activity, processes } = this;
    const { lists } = other;
    const { queue, instances } = this.index.merge(other.index, firstRequest);
    const operations = other.operations.map((one) => this.operations.of(one));
    for (const { from, step } of other.holdSteps)
      this.holdSteps.push({ from: activity.holds.length + from, step });
    const firsts = {
      waits: activity.waits.append(lists.waits),
      holds: activity.holds.appendKeyed(lists.holds, other.keys),
      work: activity.work.append(lists.work),
      pauses: activity.pauses.append(lists.pauses),
    };
    for (const name of ['waits', 'holds', 'work', 'pauses'] as const) {
      const list = activity[name];
      for (let i = firsts[name]; i < list.length; i++) {
        list.instance[i] = instances[list.queue[i]][list.instance[i]];
        list.queue[i] = queue[list.queue[i]];
        list.request[i] += firstRequest;
      }
    }
    const { calls } = activity;
    for (let i = calls.append(lists.calls); i < calls.length; i++) {
      calls.queue[i] = queue[calls.queue[i]];
      calls.request[i] += firstRequest;
      calls.operation[i] = operations[calls.operation[i]];
    }
    const { work, open, profiles } = processes;
    for (const [list, packed] of [
      [work, lists.statedWork],
      [open, lists.open],
      [profiles, lists.profiles],
    ] as const) {
      for (let i = list.append(packed); i < list.length; i++) list.request[i] += firstRequest;
    }
    activity.brokenHolds += other.brokenHolds;
    this.pieces.merge(other.pieces, firstRequest);
    for (const name of other.namedByHolds) this.namedByHolds.add(name);
  }

  /**
   * Numbers requests and queues as one pass over all requests would have done, and puts all records in that order.
   *
   * @param rank where each request stands among all
   * @param laterNs how much later the requests begin than what their times are relative to
   */
  settle(rank: Int32Array, laterNs: number): void {
    const { waits, holds, work, pauses, calls } = this.activity;
    const { queue, instances } = this.index.settle((request) => rank[request]);
    for (const list of [waits, holds, work, pauses])
      renumberPairs(list.instance, list.queue, list.length, instances);
    for (const list of [waits, holds, work, pauses, calls]) renumber(list.queue, list.length, queue);
    const { open } = this.processes;
    if (laterNs !== 0) {
      for (const list of [waits, holds, work, pauses, calls, open]) {
        lessen(list.startNs, list.length, laterNs);
        lessen(list.endNs, list.length, laterNs);
      }
    }
    for (const list of [
      waits,
      holds,
      work,
      pauses,
      calls,
      ...Object.values(this.processes),
      this.pieces.hosts,
    ]) {
      renumber(list.request, list.length, rank);
    }
    this.#sortHoldsByStep();
    for (const list of [waits, work, pauses, calls, ...Object.values(this.processes)]) sortByRequest(list);
  }

  /** Step by step, in each by request. */
  #sortHoldsByStep(): void {
    const { holds } = this.activity;
    const order = new Int32Array(holds.length);
    let at = 0;
    for (let step = 0; step <= AFTER_HOLDS; step++) {
      const first = at;
      for (const [s, { from, step: own }] of this.holdSteps.entries()) {
        if (own !== step) continue;
        const to = this.holdSteps[s + 1]?.from ?? holds.length;
        for (let i = from; i < to; i++) order[at++] = i;
      }
      orderByRequest(holds.request, order.subarray(first, at));
    }
    holds.reorder(order);
  }
}

/** A loop of its own for one column: with lists of many kinds in one loop the engine looks up every access. */
function renumber(numbers: Int32Array, length: number, to: ArrayLike<number>): void {
  for (let i = 0; i < length; i++) numbers[i] = to[numbers[i]];
}

function renumberPairs(
  numbers: Int32Array,
  of: Int32Array,
  length: number,
  to: readonly ArrayLike<number>[],
): void {
  for (let i = 0; i < length; i++) numbers[i] = to[of[i]][numbers[i]];
}

function lessen(values: Float64Array, length: number, by: number): void {
  for (let i = 0; i < length; i++) values[i] -= by;
}
