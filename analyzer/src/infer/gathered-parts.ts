import { type KnownBefore, statingServices } from '../aggregate/collect-activity.ts';
import { GatheredRequests, type PackedRequests } from '../aggregate/gathered-requests.ts';
import { Gathering, type PackedGathering } from '../aggregate/gathering.ts';
import { partsOf } from '../aggregate/groups.ts';
import { collectRequests } from '../aggregate/requests.ts';
import { MOST_TEXTS, StatementReader } from '../aggregate/statement.ts';
import { Names } from '../model/names.ts';
import type { SpanTable } from '../model/span-table.ts';
import { type PackedTally, TallySum } from '../tree/tally.ts';
import { type AnalyzeOptions, cutUp, gatherPart } from './analysis.ts';

/** What has to be known of all parts before one can be read. */
export interface Known extends KnownBefore {
  readonly substitutes: boolean;
  /** What all times are relative to until the earliest request is known. */
  readonly originUnixNano: bigint;
}

/** What was gathered from some parts, to be handed to another thread. */
export interface PackedParts {
  readonly tally: PackedTally;
  readonly gathering: PackedGathering;
  readonly requests: PackedRequests;
  readonly routes: readonly string[];
  readonly instrumented: ReadonlySet<string>;
  readonly texts: ReadonlySet<number>;
  readonly requestsOf: ReadonlyMap<number, RequestsOfPart>;
}

/** Numbers of the first request of a part, and of what follows its last. */
interface RequestsOfPart {
  readonly first: number;
  readonly end: number;
}

/** @returns all memory of what was packed that is worth handing over instead of copying. */
export function buffersOf({ gathering, requests }: PackedParts): ArrayBuffer[] {
  const { lists, pieces } = gathering;
  return [...Object.values(lists), pieces.hosts, pieces.pieces, requests.list, requests.parts].flatMap(
    ({ columns }) => Object.values(columns).map((column) => column.buffer as ArrayBuffer),
  );
}

/** From so many of the rows on it is known how much the others will give, and how much more that may be. */
const ENOUGH_SHARE = 1 / 16;
const ROOM_TO_SPARE = 1.05;

/** What is gathered from the parts of an input, in whatever order they are read. */
export class GatheredParts {
  readonly tally = new TallySum();
  readonly gathering: Gathering;
  readonly requests = new GatheredRequests();
  readonly routes = new Names();
  /** Of resources. */
  readonly names = new Names();
  readonly instrumented = new Set<string>();
  /** Of statements, up to one more than are told apart. */
  readonly texts = new Set<number>();
  readonly requestsOf = new Map<number, RequestsOfPart>();
  /** Read so far. */
  #rows = 0;
  readonly #options: AnalyzeOptions;
  readonly #known: Known;

  /** @param table any part of the input */
  constructor(table: SpanTable, options: AnalyzeOptions, known: Known) {
    this.gathering = new Gathering(table);
    this.#options = options;
    this.#known = known;
  }

  /**
   * Reads a part.
   *
   * @param firstRow number of its first row among those of all parts
   * @param expectedRows rows this thread is going to read in all, about
   */
  read(part: number, table: SpanTable, firstRow: number, expectedRows: number): void {
    this.#makeRoom(table.length, expectedRows);
    const { gathering, requests, texts } = this;
    const known = this.#known;
    const { forest, partition, classes } = cutUp(table, this.#options, this.names);
    this.tally.add(forest);
    const own = collectRequests(forest, classes, this.#options, { ...known, routes: this.routes });
    const first = requests.length;
    gathering.startPart(part, firstRow, first);
    gatherPart({ forest, partition, classes, requests: own }, gathering, known);
    requests.add(forest, own, partsOf(forest, classes, partition));
    this.requestsOf.set(part, { first, end: requests.length });
    for (const service of statingServices(forest, classes)) this.instrumented.add(service);
    if (texts.size <= MOST_TEXTS) for (const text of new StatementReader(table).texts()) texts.add(text);
  }

  /** What has been gathered from a share of the rows tells how much will be. */
  #makeRoom(rows: number, expectedRows: number): void {
    const before = this.#rows;
    this.#rows += rows;
    if (before > expectedRows * ENOUGH_SHARE || this.#rows <= expectedRows * ENOUGH_SHARE || before === 0)
      return;
    const times = (ROOM_TO_SPARE * expectedRows) / before;
    this.gathering.reserve(times);
    this.requests.reserve(times);
  }

  pack(): PackedParts {
    return {
      tally: this.tally.pack(),
      gathering: this.gathering.pack(),
      requests: this.requests.pack(),
      routes: this.routes.list,
      instrumented: this.instrumented,
      texts: this.texts,
      requestsOf: this.requestsOf,
    };
  }

  /** Adds what another thread has gathered from other parts. */
  merge(other: PackedParts): void {
    const before = this.requests.length;
    this.tally.merge(other.tally);
    this.gathering.merge(other.gathering, before);
    this.requests.merge(
      other.requests,
      other.routes.map((route) => this.routes.of(route)),
    );
    for (const service of other.instrumented) this.instrumented.add(service);
    for (const text of other.texts) if (this.texts.size <= MOST_TEXTS) this.texts.add(text);
    for (const [part, { first, end }] of other.requestsOf) {
      this.requestsOf.set(part, { first: before + first, end: before + end });
    }
  }
}
