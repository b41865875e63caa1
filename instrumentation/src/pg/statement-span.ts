import { type Attributes, type Context, SpanKind, trace } from '@opentelemetry/api';
import { emitReserved, type ReservedSpan, reserveSpan } from '../core/emit.ts';
import { forgetLastStarted, lastStartedOf } from '../core/started-span.ts';
import type { PgClient } from './types.ts';

const OFFICIAL_SCOPE = '@opentelemetry/instrumentation-pg';

/**
 * The span of one statement, whoever makes it: the official instrumentation where it is active, in whichever
 * order the two wrap each other, else ours.
 */
export class StatementSpan {
  readonly #caller: Context;
  readonly #callMs: number;
  #own: ReservedSpan | undefined;
  #active: Context | undefined;

  /** To be made before the statement is handed on: an official wrapper around ours has just started its span. */
  constructor(caller: Context, callMs: number) {
    this.#caller = caller;
    this.#callMs = callMs;
    this.#adopt();
  }

  /** The context what belongs to the statement goes under. */
  get parent(): Context {
    return this.#active ?? this.#caller;
  }

  /** Whether {@link parent} is the statement's own span. */
  get isKnown(): boolean {
    return this.#active !== undefined;
  }

  /** To be called when the statement was handed on: an official wrapper inside ours has started its span. */
  handedOn(mayRecord: boolean): void {
    if (this.#active !== undefined) return;
    this.#adopt();
    if (this.#active !== undefined || !mayRecord) return;
    this.#own = reserveSpan(this.#caller, this.#callMs);
    this.#active = this.#own?.active;
  }

  /** Writes our span, where it is ours to write. */
  end(client: PgClient, text: string | undefined, error: unknown, endMs: number): void {
    if (this.#own === undefined) return;
    const operation = operationOf(text);
    const { host, port, database } = client.connectionParameters ?? client;
    const attributes: Attributes = {
      'db.system.name': 'postgresql',
      'db.namespace': database,
      'server.address': host,
      'server.port': port,
      'db.operation.name': operation,
      'db.query.text': text,
    };
    const failed = error !== undefined && error !== null;
    if (failed)
      attributes['error.type'] = String((error as { code?: unknown }).code ?? (error as Error).name);
    emitReserved(this.#caller, this.#own, {
      name: `pg.query:${operation ?? ''} ${database ?? ''}`.trim(),
      kind: SpanKind.CLIENT,
      startMs: this.#callMs,
      endMs,
      attributes,
      error: failed,
    });
  }

  #adopt(): void {
    const official = lastStartedOf(OFFICIAL_SCOPE, 'pg.query');
    if (official !== undefined) this.#active = trace.setSpan(this.#caller, official);
    forgetLastStarted();
  }
}

function operationOf(text: string | undefined): string | undefined {
  return /^\s*([A-Za-z]+)/.exec(text ?? '')?.[1].toUpperCase();
}
