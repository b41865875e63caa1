import { type Attributes, type Context, SpanKind } from '@opentelemetry/api';
import { ATTR_DB_WAIT_EVENTS } from '../conventions.ts';
import { withSpan } from '../core/context-node.ts';
import { type ReservedSpan, reserveSpan } from '../core/emit.ts';
import { Fragment } from '../core/fragment.ts';
import { takeQuerySpan } from '../core/started-span.ts';
import type { CachedPlan, StatementDescription } from './sql/plan-cache.ts';
import type { PgClient } from './types.ts';

/**
 * The span of one statement, whoever makes it: the official instrumentation where it is active, in whichever
 * order the two wrap each other, else ours.
 */
export class StatementSpan {
  readonly #caller: Context;
  readonly #callMs: number;
  #own: ReservedSpan | undefined;
  #official: Context | undefined;
  readonly #officialEnds: boolean;

  /**
   * To be made before the statement is handed on: an official wrapper around ours has just started its span.
   *
   * @param officialEnds false where the official instrumentation starts a span and never ends it.
   */
  constructor(caller: Context, callMs: number, officialEnds: boolean) {
    this.#caller = caller;
    this.#callMs = callMs;
    this.#officialEnds = officialEnds;
    this.#adopt();
  }

  /** The context what belongs to the statement goes under. */
  get parent(): Context {
    return this.#official ?? this.#own?.active ?? this.#caller;
  }

  /** Whether {@link parent} is the statement's own span. */
  get isKnown(): boolean {
    return this.#official !== undefined || this.#own !== undefined;
  }

  /**
   * Whether the official instrumentation is around ours: then it has bound the callback to the caller's context. True
   * until the statement is handed on; later another order cannot be told from this one.
   */
  get isOfficialAround(): boolean {
    return this.#official !== undefined;
  }

  /** To be called when the statement was handed on: an official wrapper inside ours has started its span. */
  handedOn(): void {
    if (this.#official !== undefined) return;
    this.#adopt();
    if (this.#official === undefined) this.#own = reserveSpan(this.#caller, this.#callMs);
  }

  /** Writes our span, where it is ours to write. */
  end(
    client: PgClient,
    plan: CachedPlan,
    text: string | undefined,
    error: unknown,
    endMs: number,
    waitEvents: readonly string[] | undefined,
  ): void {
    if (this.#own === undefined) return;
    const { name, fixed } = describe(client, plan, text);
    const failed = error !== undefined && error !== null;
    let rest: Attributes | undefined;
    if (failed) rest = { 'error.type': String((error as { code?: unknown }).code ?? (error as Error).name) };
    if (waitEvents !== undefined) rest = { ...rest, [ATTR_DB_WAIT_EVENTS]: [...waitEvents] };
    this.#own.endFixed(name, SpanKind.CLIENT, endMs, fixed, rest, failed);
  }

  #adopt(): void {
    const official = takeQuerySpan();
    if (official !== undefined && this.#officialEnds) this.#official = withSpan(this.#caller, official);
  }
}

/** A text is run on few databases; more of them are described anew each time. */
const MAX_DESCRIPTIONS = 16;

function describe(client: PgClient, plan: CachedPlan, text: string | undefined): StatementDescription {
  const { host, port, database } = client.connectionParameters ?? client;
  for (const known of plan.descriptions) {
    if (known.database === database && known.port === port && known.host === host) return known;
  }
  const operation = /^\s*([A-Za-z]+)/.exec(text ?? '')?.[1].toUpperCase();
  const name = `pg.query:${operation ?? ''} ${database ?? ''}`.trim();
  const attributes = {
    'db.system.name': 'postgresql',
    'db.namespace': database,
    'server.address': host,
    'server.port': port,
    'db.operation.name': operation,
    'db.query.text': text,
  };
  const description = { host, port, database, name, fixed: new Fragment(attributes, name) };
  if (plan.descriptions.length < MAX_DESCRIPTIONS) plan.descriptions.push(description);
  return description;
}
