import type { PgClient } from '../types.ts';
import { type OnExplained, SampledStatement, type Subject } from './sampled-statement.ts';

/** A statement of this process: it stands in the queue of its connection. */
export class QueuedStatement extends SampledStatement {
  readonly #onReply: () => void;
  isAnswered = false;
  /** When the server was last asked about it. */
  askedMs: number | undefined;

  constructor(subject: Subject, onExplained: OnExplained, onReply: () => void) {
    super(subject, onExplained);
    this.#onReply = onReply;
  }

  override replied(answeredMs: number, error?: unknown): void {
    this.isAnswered = true;
    super.replied(answeredMs, error);
    this.#onReply();
  }
}

/** One connection of the application, as far as its statements go through us. */
export class Session {
  readonly client: PgClient;
  readonly queue: QueuedStatement[] = [];
  /** The statement sent last: of an idle transaction, the one whose span stands for the holder. */
  last: QueuedStatement | undefined;
  /** Its process id has been noted. */
  isNoted = false;

  constructor(client: PgClient) {
    this.client = client;
  }

  /** Process id of its server process; undefined before it is connected, and for clients that do not tell. */
  get pid(): number | undefined {
    const { processID } = this.client as { processID?: unknown };
    return typeof processID === 'number' ? processID : undefined;
  }

  /** The connection is gone: its statements get no reply any more. */
  get isEnded(): boolean {
    const { _ended: ended, _queryable: queryable } = this.client;
    return ended === true || queryable === false;
  }
}
