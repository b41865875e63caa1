import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { BlockMaps } from '../model/table-block.ts';
import { type Range, RangeReader, type RangeResult } from './range-reader.ts';
import type { WorkerAnswer, WorkerStart, WorkerTask } from './range-worker.ts';

/** Smaller ranges cost more messages, larger ones more memory. */
const MAX_RANGE_BYTES = 8 << 20;
/** Ranges of a file for each thread, at least: the last one should not be waited for alone. */
const RANGES_PER_THREAD = 4;
/** Tasks of a thread at a time: the next one waits where it is done with one. */
const QUEUED = 2;
/** Ranges under way or read and not merged yet, for each thread. */
const AHEAD = 3;

/** One thread. */
interface Member {
  readonly worker: Worker;
  /** What the numbers of its blocks mean in the merged table. */
  readonly maps: BlockMaps;
  /** Tasks given and not answered. */
  tasks: number;
  restart: boolean;
  /** Buffers to be used again. */
  readonly buffers: ArrayBuffer[];
}

/** What a thread has read of a range, with the maps to merge it by; null where it could not. */
export interface RangeRead {
  readonly result: RangeResult;
  readonly maps: BlockMaps;
  /** To be called when the columns are copied. */
  readonly done: () => void;
}

/** Threads that read ranges of large files ahead of the one that merges them; that one reads where it would wait. */
export class RangePool {
  readonly threads: number;
  readonly #own: RangeReader;
  readonly #ownMaps = new BlockMaps();
  #ownBuffer: ArrayBuffer | null = null;
  readonly #members: Member[] = [];
  readonly #waiting = new Map<number, { member: Member; resolve: (read: RangeRead | null) => void }>();
  #asked = 0;

  /** @param threads this one included. */
  constructor(threads: number, start: WorkerStart) {
    this.threads = threads;
    this.#own = new RangeReader(start.fast, start.keep);
    for (let i = 1; i < threads; i++) this.#members.push(this.#start(start));
  }

  /** Asks the thread with the least to do. @returns null when all have enough. */
  ask(range: Range): Promise<RangeRead | null> | null {
    const [member] = this.#members.toSorted((a, b) => a.tasks - b.tasks);
    if (member === undefined || member.tasks === QUEUED) return null;
    const id = this.#asked++;
    const buffer = member.buffers.pop() ?? null;
    const task: WorkerTask = { id, range, restart: member.restart, buffer };
    member.worker.postMessage(task, buffer === null ? [] : [buffer]);
    member.restart = false;
    member.tasks++;
    return new Promise((resolve) => {
      this.#waiting.set(id, { member, resolve });
    });
  }

  /** Reads a range here and now. */
  readHere(range: Range): RangeRead | null {
    const buffer = this.#ownBuffer;
    this.#ownBuffer = null;
    try {
      const result = this.#own.read(range, buffer);
      const done = (): void => {
        this.#ownBuffer = result.part.block.buffer;
      };
      return { result, maps: this.#ownMaps, done };
    } catch {
      this.#own.restart();
      return null;
    }
  }

  /** Results not merged are lost, and the meaning of numbers with them: every thread begins anew. */
  restart(): void {
    this.#own.restart();
    for (const member of this.#members) member.restart = true;
  }

  async close(): Promise<void> {
    this.#own.close();
    const workers = this.#members.splice(0).map(({ worker }) => worker);
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  #start(workerData: WorkerStart): Member {
    // From the sources the worker is its own file; in the bundle it is one beside this one.
    const file = import.meta.url.endsWith('.ts') ? './range-worker.ts' : './read-worker.js';
    const worker = new Worker(new URL(file, import.meta.url), { workerData });
    const member: Member = { worker, maps: new BlockMaps(), tasks: 0, restart: false, buffers: [] };
    worker.on('message', (answer: WorkerAnswer) => {
      member.tasks--;
      const result = 'result' in answer ? answer.result : null;
      this.#answer(
        answer.id,
        result && { result, maps: member.maps, done: () => this.#reuse(member, result) },
      );
    });
    // A thread that dies takes its ranges with it: they are read by the one that merges.
    worker.on('error', () => this.#lose(member));
    worker.on('exit', () => this.#lose(member));
    return member;
  }

  #reuse(member: Member, { part }: RangeResult): void {
    if (member.buffers.length < AHEAD) member.buffers.push(part.block.buffer);
  }

  #answer(id: number, read: RangeRead | null): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.resolve(read);
  }

  #lose(member: Member): void {
    const at = this.#members.indexOf(member);
    if (at >= 0) this.#members.splice(at, 1);
    for (const [id, waiting] of this.#waiting) if (waiting.member === member) this.#answer(id, null);
  }
}

/** The ranges of one file, read ahead and handed over in order. */
export class FileRanges {
  readonly #pool: RangePool;
  readonly #ranges: Iterator<Range>;
  readonly #ahead: Slot[] = [];
  /** The next one, while no thread is free for it. */
  #waiting: Range | undefined;

  /** @param cut cuts a file into ranges of about some bytes each. */
  constructor(
    pool: RangePool,
    path: string,
    size: number,
    cut: (path: string, size: number, bytes: number) => Generator<Range>,
  ) {
    this.#pool = pool;
    const share = Math.ceil(size / (pool.threads * RANGES_PER_THREAD));
    this.#ranges = cut(path, size, Math.min(MAX_RANGE_BYTES, share));
    this.#fill();
  }

  /** @returns what was read of the next range: null where it could not be; undefined behind the last one. */
  async next(): Promise<RangeRead | null | undefined> {
    for (;;) {
      this.#fill();
      const [slot] = this.#ahead;
      if (slot?.read !== undefined) return this.#ahead.shift()?.read;
      const range = this.#ahead.length < this.#limit ? this.#take() : undefined;
      if (range !== undefined) {
        const read = this.#pool.readHere(range);
        this.#ahead.push({ read, asked: Promise.resolve(read) });
        // Answers come in between.
        await setImmediate();
      } else if (slot === undefined) return undefined;
      else await slot.asked;
    }
  }

  /** Gives up all ranges not merged. */
  async drop(): Promise<void> {
    this.#waiting = undefined;
    this.#ranges.return?.();
    this.#pool.restart();
    await Promise.all(this.#ahead.splice(0).map(({ asked }) => asked));
  }

  get #limit(): number {
    return this.#pool.threads * AHEAD;
  }

  #take(): Range | undefined {
    const range = this.#waiting ?? this.#ranges.next().value;
    this.#waiting = undefined;
    return range;
  }

  #fill(): void {
    while (this.#ahead.length < this.#limit) {
      this.#waiting = this.#take();
      const asked = this.#waiting === undefined ? null : this.#pool.ask(this.#waiting);
      if (asked === null) return;
      const slot: Slot = { read: undefined, asked };
      void asked.then((read) => {
        slot.read = read;
      });
      this.#ahead.push(slot);
      this.#waiting = undefined;
    }
  }
}

/** A range under way. */
interface Slot {
  /** Undefined while it is read. */
  read: RangeRead | null | undefined;
  readonly asked: Promise<RangeRead | null>;
}
