import {
  ATTR_BLOCKER_AGE_NS,
  ATTR_BLOCKER_STATEMENT,
  ATTR_HOLD_DURATION_NS,
  ATTR_LOCK_KEY,
  ATTR_OUTCOME,
  ATTR_RESOURCE,
  ATTR_RESOURCE_CAPACITY,
  ATTR_RESOURCE_IN_USE,
  ATTR_RESOURCE_QUEUE_DEPTH,
  ATTR_SEGMENT,
  MAX_BLOCKED_BY_LINKS,
  SCOPE_NAME,
  type Segment,
  waitSpanName,
} from '@waitfall/instrumentation/conventions';
import type { AttributeValue } from '../../../analyzer/src/model/attributes.ts';
import { KIND } from '../../../analyzer/src/model/span.ts';
import { Random } from '../random.ts';
import type { Run, SimRequest } from '../run.ts';
import type { SimSpan } from '../spans.ts';
import { remoteSpans } from './remote.ts';
import { rootAttributes, SEGMENT_OF } from './root-attributes.ts';
import type { ExportOptions, ExportSpan } from './types.ts';

const SCOPE = {
  http: '@opentelemetry/instrumentation-http',
  express: '@opentelemetry/instrumentation-express',
  pg: '@opentelemetry/instrumentation-pg',
  undici: '@opentelemetry/instrumentation-undici',
  application: 'signup',
};

const HTTP_STATUS: Record<SimRequest['outcome'], number> = {
  success: 201,
  rejected: 503,
  timeout: 503,
  error: 502,
};

/** Waits before a request's first callback are known exactly, so they are written from this length on. */
const MIN_ENTRY_WAIT_NS = 200_000;

/** Pauses are written under at most this many requests each, as the instrumentation limits them per request. */
const MAX_PAUSES = 8;

/** Spans that no activity of the simulation stands for have ids of their own. */
const FIRST_PAUSE_ID = 1e9;

/** @returns the spans of a run as an exporter would write them, in order of their end. */
export function renderSpans(run: Run, options: ExportOptions): ExportSpan[] {
  const spans: ExportSpan[] = [];
  const exported = new Set<number>();
  for (const span of run.spans) {
    if (span.trace < 0 || run.requests[span.trace].endNs < 0) continue;
    if (!isExported(span, run, options)) continue;
    exported.add(span.id);
  }
  const sums = options.spans === 'official' ? null : rootAttributes(run);
  for (const span of run.spans) {
    if (exported.has(span.id)) {
      const rendered = render(span, parentOf(span, exported), run, options);
      if (sums && span.role === 'root') {
        for (const [key, value] of sums(span.trace)) rendered.attributes.set(key, value);
      }
      spans.push(rendered);
    } else if (options.spans === 'official' && span.role === 'admission' && hasMiddlewareSpan(run)) {
      spans.push(middleware(span, parentOf(span, exported)));
    }
  }
  if (options.spans !== 'official') spans.push(...pausesOf(run));
  if (options.remote === 'instrumented') spans.push(...remoteSpans(run, exported, options));
  return spans.sort((a, b) => a.endNs - b.endNs || a.id - b.id);
}

function isExported(span: SimSpan, run: Run, options: ExportOptions): boolean {
  const { role } = span;
  if (role === 'pause') return false;
  const agent = role === 'acquire' && run.scenario.pools[span.place].kind === 'agent';
  if (options.spans === 'official') {
    if (role === 'root' || role === 'handler' || role === 'statement' || role === 'call') return true;
    return (role === 'acquire' || role === 'connect') && !agent;
  }
  if (role === 'handler' || role === 'acquire') return options.spans === 'both' && !agent;
  if (role === 'work' || role === 'loop') {
    const entry = role === 'loop' && span.parent?.role === 'root' && span.startNs === span.parent.startNs;
    const least = entry ? Math.min(options.minSpanNs, MIN_ENTRY_WAIT_NS) : options.minSpanNs;
    return span.endNs - span.startNs >= least;
  }
  return true;
}

/** @returns the id of the nearest ancestor that is written. */
function parentOf(span: SimSpan, exported: ReadonlySet<number>): number {
  let parent = span.parent;
  while (parent && !exported.has(parent.id)) parent = parent.parent;
  return parent ? parent.id : -1;
}

function render(span: SimSpan, parent: number, run: Run, options: ExportOptions): ExportSpan {
  const segment = SEGMENT_OF[span.role];
  if (segment && options.spans !== 'official') return wait(span, segment, parent, run, options);
  return official(span, parent, run);
}

function base(
  span: SimSpan,
  parent: number,
  name: string,
  kind: number,
  scope: string,
  attributes: readonly (readonly [string, AttributeValue])[],
): ExportSpan {
  return {
    trace: span.trace,
    id: span.id,
    parent,
    name,
    kind,
    startNs: span.startNs,
    endNs: span.endNs,
    failed: span.failed,
    process: span.replica,
    scope,
    attributes: new Map(attributes),
    blockedBy: [],
    traceState: '',
  };
}

function wait(span: SimSpan, segment: Segment, parent: number, run: Run, options: ExportOptions): ExportSpan {
  const attributes: [string, AttributeValue][] = [
    [ATTR_SEGMENT, segment],
    [ATTR_RESOURCE, span.resource],
  ];
  if (span.role === 'work') return base(span, parent, 'work', KIND.internal, SCOPE_NAME, attributes);
  if (options.capacities && span.capacity !== null) attributes.push([ATTR_RESOURCE_CAPACITY, span.capacity]);
  if (span.role === 'loop') {
    return base(span, parent, waitSpanName(span.resource), KIND.internal, SCOPE_NAME, attributes);
  }
  // Nobody sees how many handshakes a server is busy with, unless their number is limited on this side.
  if (span.role !== 'connect' || span.capacity !== null) {
    attributes.push([ATTR_RESOURCE_IN_USE, span.inUse], [ATTR_RESOURCE_QUEUE_DEPTH, span.queueDepth]);
  }
  attributes.push([ATTR_OUTCOME, span.outcome]);
  const failed = span.outcome === 'rejected' || span.outcome === 'timeout';
  if (failed) attributes.push(['error.type', span.outcome]);
  if (span.holdNs >= 0) attributes.push([ATTR_HOLD_DURATION_NS, span.holdNs]);
  const blockedBy = span.blockedBy.slice(0, MAX_BLOCKED_BY_LINKS);
  if (span.role === 'lock') {
    attributes.push([ATTR_LOCK_KEY, hash(run.scenario.seed, span.key)]);
    if (blockedBy.length > 0) {
      const holder = blockedBy[0];
      attributes.push(
        [ATTR_BLOCKER_STATEMENT, `${holder.name} ${holder.table}`],
        [ATTR_BLOCKER_AGE_NS, span.startNs - holder.startNs],
      );
    }
  }
  return {
    ...base(span, parent, waitSpanName(span.resource), KIND.internal, SCOPE_NAME, attributes),
    failed,
    blockedBy: blockedBy.map(({ trace, id }) => ({ trace, id })),
  };
}

function official(span: SimSpan, parent: number, run: Run): ExportSpan {
  const { scenario, requests } = run;
  const route = span.name.slice(span.name.indexOf(' ') + 1);
  if (span.role === 'root') {
    const status = HTTP_STATUS[requests[span.trace].outcome];
    return {
      ...base(span, parent, span.name, KIND.server, SCOPE.http, [
        ['http.request.method', span.name.slice(0, span.name.indexOf(' '))],
        ['http.route', route],
        ['url.path', route],
        ['http.response.status_code', status],
      ]),
      failed: status >= 500,
    };
  }
  if (span.role === 'handler') {
    return base(span, parent, `request handler - ${route}`, KIND.internal, SCOPE.express, [
      ['express.type', 'request_handler'],
      ['http.route', route],
    ]);
  }
  if (span.role === 'branch' || span.role === 'tail') {
    return base(span, parent, span.name, KIND.internal, SCOPE.application, []);
  }
  if (span.role === 'call') {
    const server = scenario.servers[span.place];
    return base(span, parent, span.name.split(' ')[0], KIND.client, SCOPE.undici, [
      ['http.request.method', span.name.split(' ')[0]],
      ['server.address', server.address],
      ['server.port', server.port],
      ['url.path', route],
      ...(span.failed
        ? ([['error.type', 'AbortError']] as const)
        : ([['http.response.status_code', 200]] as const)),
    ]);
  }
  const server = scenario.servers[span.role === 'statement' ? span.place : scenario.pools[span.place].server];
  const database: [string, AttributeValue][] = [
    ['db.system.name', 'postgresql'],
    ['db.namespace', server.address === 'db-main' ? 'signup' : 'report'],
    ['server.address', server.address],
    ['server.port', server.port],
  ];
  if (span.role === 'acquire') {
    return base(span, parent, 'pg-pool.connect', KIND.client, SCOPE.pg, [
      ...database,
      ['db.postgresql.idle.timeout.millis', 10_000],
    ]);
  }
  if (span.role === 'connect') return base(span, parent, 'pg.connect', KIND.client, SCOPE.pg, database);
  return base(span, parent, `pg.query:${span.name} ${database[1][1]}`, KIND.client, SCOPE.pg, [
    ...database,
    ['db.query.text', queryText(span.name, span.table)],
  ]);
}

function queryText(verb: string, table: string): string {
  if (verb === 'UPDATE') return `UPDATE ${table} SET stock = stock - 1 WHERE id = $1 AND stock > 0`;
  if (verb === 'INSERT') return `INSERT INTO ${table} (id, body) VALUES ($1, $2)`;
  if (verb === 'SELECT') return `SELECT * FROM ${table} WHERE id = $1`;
  return verb;
}

/** Express middleware ends when it calls next(): an admission middleware shows its wait as its own length. */
function middleware(span: SimSpan, parent: number): ExportSpan {
  return base(span, parent, 'middleware - admission', KIND.internal, SCOPE.express, [
    ['express.type', 'middleware'],
    ['express.name', 'admission'],
  ]);
}

function hasMiddlewareSpan(run: Run): boolean {
  return new Random(run.scenario.seed, 9).chance(0.5);
}

/** Pauses as spans under every request of the process that was open then, cut to the request. */
function pausesOf(run: Run): ExportSpan[] {
  const byReplica = run.scenario.replicas.map((_, replica) =>
    run.spans.filter((span) => span.role === 'pause' && span.replica === replica),
  );
  const spans: ExportSpan[] = [];
  let id = FIRST_PAUSE_ID;
  for (const request of run.requests) {
    if (!request.root || request.endNs < 0) continue;
    const pauses = byReplica[request.replica];
    let low = 0;
    let high = pauses.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pauses[middle].endNs <= request.arrivalNs) low = middle + 1;
      else high = middle;
    }
    for (let i = low; i < pauses.length && i < low + MAX_PAUSES; i++) {
      const pause = pauses[i];
      if (pause.startNs >= request.endNs) break;
      const cut: SimSpan = {
        ...pause,
        trace: request.id,
        id: id++,
        startNs: Math.max(pause.startNs, request.arrivalNs),
        endNs: Math.min(pause.endNs, request.endNs),
      };
      spans.push(
        base(cut, request.root.id, 'runtime_pause', KIND.internal, SCOPE_NAME, [
          [ATTR_SEGMENT, 'runtime_pause'],
          [ATTR_RESOURCE, pause.resource],
        ]),
      );
    }
  }
  return spans;
}

function hash(seed: number, text: string): string {
  const random = new Random(seed, ...[...text].map((c) => c.charCodeAt(0)));
  const word = (): string =>
    random
      .below(2 ** 32)
      .toString(16)
      .padStart(8, '0');
  return word() + word();
}
