import { type Attributes, type Context, trace } from '@opentelemetry/api';
import {
  ATTR_DB_WAIT_EVENTS,
  ATTR_ESTIMATE_MAX_NS,
  ATTR_ESTIMATE_MIN_NS,
  ATTR_ESTIMATED,
  PREFIX_LOCK,
} from '../../conventions.ts';
import { durationNs } from '../../core/clock.ts';
import { countTime, emitSegment } from '../../core/emit.ts';
import type { InferredWait } from '../locks/infer-wait.ts';
import { REFUSALS } from '../locks/refusals.ts';
import { isHidden, lockCapacity, lockResource, waitEventOf } from './activity.ts';
import { type Holder, Holders } from './holders.ts';
import type { ActivityRow } from './lock-query.ts';
import type { ObservedStatement } from './observer.ts';
import { type EstimatedWait, estimateWait, type Look, type SeenWait } from './seen-wait.ts';

/** What a statement is, as far as its waits need it. */
export interface Subject {
  readonly parent: Context;
  /** What its text locks first. */
  readonly relation: string | undefined;
  /** Running median of its time when nobody is in its way; 0 where that is not known. */
  readonly uncontendedMs: number;
}

interface Episode {
  readonly seen: SeenWait;
  readonly holders: Holders;
  readonly resource: string;
  /** It was for a row, not for a table or a number. */
  readonly isRow: boolean;
  readonly capacity: number | undefined;
  readonly queueDepth: number;
}

/** Who takes part in one comparison of both records of a wait. */
export type OnExplained = (parent: Context, wait: EstimatedWait) => void;

/** One running statement, and what polls saw of it. */
export class SampledStatement implements ObservedStatement {
  readonly subject: Subject;
  /** When the server got it; statements queue in their client. */
  sentMs: number | undefined;
  /** Its server process, and the reply that ends it, where it is not one of this process. */
  readonly #events = new Map<string, number>();
  readonly #episodes: Episode[] = [];
  readonly #onExplained: OnExplained | undefined;
  #lastLook: Look | undefined;
  #answeredMs = 0;
  /** SQLSTATE of the error it ended in. */
  #refusal: string | undefined;
  /** Looks since the last that saw it wait for a lock. */
  #busyLooks = 0;
  #done = false;

  constructor(subject: Subject, onExplained?: OnExplained) {
    this.subject = subject;
    this.#onExplained = onExplained;
  }

  /** The last look saw it wait for a lock. */
  get isWaiting(): boolean {
    const seen = this.#episodes.at(-1)?.seen;
    return seen !== undefined && seen.overMs === undefined;
  }

  get sawWait(): boolean {
    return this.#episodes.length > 0;
  }

  get waitEvents(): readonly string[] | undefined {
    if (this.#events.size === 0) return undefined;
    return [...this.#events].sort((a, b) => b[1] - a[1]).map(([name, count]) => `${name} ${count}`);
  }

  /** A poll saw the statement working, or waiting for anything but a lock. */
  seenBusy(row: ActivityRow, look: Look): void {
    this.#note(row, look);
    this.#busyLooks++;
    this.seenOver(look);
  }

  /** A poll saw it not waiting for what it waited for before, or not at all any more. */
  seenOver({ repliedMs }: Look): void {
    const seen = this.#episodes.at(-1)?.seen;
    if (seen !== undefined) seen.overMs ??= repliedMs;
  }

  /** A poll saw the statement between two waits, or at the end of one: it has done nothing else meanwhile. */
  seenChanging(row: ActivityRow, { sentMs }: Look): void {
    this.#count(row);
    const seen = this.#episodes.at(-1)?.seen;
    if (seen !== undefined && seen.overMs === undefined) seen.lastSeenMs = sentMs;
  }

  /** A poll saw the statement waiting for a lock. @param waitStartMs since when, says the server. */
  seenWaiting(
    row: ActivityRow,
    look: Look,
    waitStartMs: number | undefined,
    roots: readonly number[],
    describe: (pid: number) => Holder,
  ): void {
    const notYetMs = this.#lastLook?.sentMs;
    this.#note(row, look);
    const resource = lockResource(row, this.subject.relation);
    let episode = this.#episodes.at(-1);
    // When a row changes hands, those who want it wake up and wait again: one look may fall in between.
    if (episode?.resource === resource && (this.#busyLooks <= 1 || this.subject.uncontendedMs > 0))
      episode.seen.overMs = undefined;
    this.#busyLooks = 0;
    if (episode === undefined || episode.seen.overMs !== undefined) {
      episode = {
        seen: {
          notYetMs,
          waitStartMs,
          firstSeenMs: look.repliedMs,
          lastSeenMs: look.sentMs,
          overMs: undefined,
        },
        holders: new Holders(),
        resource,
        isRow: row.locktype === 'transactionid' || row.locktype === 'tuple',
        capacity: lockCapacity(row),
        // Those it waits for are its holders and whoever stands before it.
        queueDepth: Math.max(0, (row.blockers?.length ?? 1) - 1),
      };
      this.#episodes.push(episode);
    }
    episode.seen.lastSeenMs = look.sentMs;
    for (const pid of roots) episode.holders.note(pid, describe);
  }

  explain(relation: string): void {
    let at = this.#episodes.findLastIndex(({ resource }) => resource === relation);
    // A row of a partitioned table is seen as one of its partition.
    if (at < 0) at = this.#episodes.findLastIndex(({ isRow }) => isRow);
    if (at < 0) return;
    const [episode] = this.#episodes.splice(at, 1);
    this.#onExplained?.(this.subject.parent, this.#estimate(episode));
  }

  take(relation: string): InferredWait | null {
    const at = this.#episodes.findIndex(({ resource }) => resource === relation);
    if (at < 0) return null;
    const [episode] = this.#episodes.splice(at, 1);
    const wait = this.#estimate(episode);
    return { ...wait, estimated: true, blockers: [], evidence: this.#evidence(episode) };
  }

  replied(answeredMs: number, error?: unknown): void {
    this.#answeredMs = answeredMs;
    const { code } = (error ?? {}) as { code?: unknown };
    if (typeof code === 'string') this.#refusal = code;
    const last = this.#episodes.at(-1)?.seen;
    // What was seen after the reply is the next statement's.
    if (last !== undefined) last.lastSeenMs = Math.min(last.lastSeenMs, answeredMs);
  }

  finish(): void {
    if (this.#done) return;
    this.#done = true;
    const last = this.#episodes.at(-1);
    for (const episode of this.#episodes) this.#emit(episode, episode === last ? this.#refusal : undefined);
    this.#episodes.length = 0;
  }

  #note(row: ActivityRow, look: Look): void {
    this.#lastLook = look;
    this.#count(row);
  }

  #count(row: ActivityRow): void {
    if (isHidden(row)) return;
    const event = waitEventOf(row);
    this.#events.set(event, (this.#events.get(event) ?? 0) + 1);
    const span = trace.getSpan(this.subject.parent);
    // A span of the official instrumentation ends before or after us: it gets each new state at once.
    if (span?.isRecording()) span.setAttribute(ATTR_DB_WAIT_EVENTS, [...(this.waitEvents ?? [])]);
  }

  #estimate({ seen }: Episode): EstimatedWait {
    const sentMs = this.sentMs ?? seen.firstSeenMs;
    return estimateWait(seen, sentMs, this.#answeredMs, this.subject.uncontendedMs);
  }

  #evidence(episode: Episode): { attributes: Attributes; links: ReturnType<Holders['linksFrom']> } {
    const traceId = trace.getSpanContext(this.subject.parent)?.traceId;
    return {
      attributes: { ...episode.holders.attributes, [ATTR_DB_WAIT_EVENTS]: [...(this.waitEvents ?? [])] },
      links: episode.holders.linksFrom(traceId),
    };
  }

  #emit(episode: Episode, refusal: string | undefined): void {
    const outcome = (refusal !== undefined && REFUSALS[refusal]) || 'acquired';
    const { startMs, endMs, minMs, maxMs } = this.#estimate(episode);
    const { attributes, links } = this.#evidence(episode);
    const { parent } = this.subject;
    countTime(parent, 'lock_wait', startMs, endMs);
    emitSegment({
      segment: 'lock_wait',
      resource: `${PREFIX_LOCK}${episode.resource}`,
      parent,
      startMs,
      endMs,
      outcome,
      errorType: outcome === 'acquired' ? undefined : refusal,
      capacity: episode.capacity,
      inUse: episode.capacity,
      queueDepth: episode.queueDepth,
      attributes: {
        ...attributes,
        [ATTR_ESTIMATED]: true,
        [ATTR_ESTIMATE_MIN_NS]: durationNs(0, minMs),
        [ATTR_ESTIMATE_MAX_NS]: durationNs(0, maxMs),
      },
      links,
    });
  }
}
