import { SCOPE_NAME, SEGMENTS } from '@waitfall/instrumentation/conventions';
import { isWait, segmentIndex } from '../../classify/classify.ts';
import type { SegmentName } from '../../classify/types.ts';
import type { Analysis } from '../../infer/analysis.ts';
import type { Attributes } from '../../model/attributes.ts';
import { KIND, type Resource } from '../../model/span.ts';
import { attributeById } from '../../model/span-table.ts';
import { STATE } from '../../tree/types.ts';

/** Spans of one instrumentation in one service. */
export interface ScopeFacts {
  readonly name: string;
  readonly version: string;
  spans: number;
}

/** Spans of one name whose own time nobody explained. */
export interface UnmeasuredName {
  readonly name: string;
  readonly scope: string;
  spans: number;
  ns: number;
}

/** What an export shows of one service. Counts are of spans as exported; times are of what they own of their traces. */
export interface ServiceFacts {
  readonly service: string;
  readonly resource: Resource;
  readonly instances: Set<string>;
  readonly scopes: Map<string, ScopeFacts>;
  readonly segments: Map<SegmentName, { spans: number; readonly resources: Set<string> }>;
  readonly unmeasured: Map<string, UnmeasuredName>;
  /** Names of database systems its client spans state. */
  readonly databases: Set<string>;
  spans: number;
  serverSpans: number;
  /** Of these, named by the method alone: nobody said which route it was. */
  withoutRoute: number;
  /** Trees that begin here and have a client span as root: a load generator, a browser, a script. */
  clientRoots: number;
  orphanRoots: number;
  trees: number;
  ns: number;
  unmeasuredNs: number;
  wholeMillisecondStarts: number;
  holds: number;
  /** Waits that say so themselves (`waitfall.segment`), whoever recorded them. */
  statedWaits: number;
}

/** A server span that was never told its route keeps such a name. */
const METHOD = /^(HTTP )?[A-Z]+$/;

/** @returns the services of an analysis, the most time first. */
export function serviceFacts({ forest, partition, classes }: Analysis): ServiceFacts[] {
  const { table } = forest;
  const byService = new Map<string, ServiceFacts>();
  const unaccounted = segmentIndex('unaccounted');
  const downstream = segmentIndex('downstream');
  const holdKey = table.strings.find('waitfall.hold.duration_ns');
  const routeKey = table.strings.find('http.route');
  const systemKeys = ['db.system.name', 'db.system'].map((key) => table.strings.find(key));
  for (let row = 0; row < table.length; row++) {
    const state = forest.state[row];
    if (state === STATE.dropped || state === STATE.quarantined) continue;
    const resource = table.resources[table.resource[row]];
    const facts = factsOf(resource);
    facts.instances.add(resource.instance);
    facts.spans++;
    const scope = table.scopes[table.scope[row]];
    countScope(facts, scope.name, scope.version);
    if (table.startNs[row] % 1_000_000 === 0) facts.wholeMillisecondStarts++;
    if (state === STATE.hold || (holdKey >= 0 && attributeById(table, row, holdKey) !== undefined))
      facts.holds++;
    for (const key of systemKeys) {
      const system = key < 0 ? undefined : attributeById(table, row, key);
      if (typeof system === 'string') facts.databases.add(system);
    }
    if (state !== STATE.inTree) continue;
    if (table.kind[row] === KIND.server) {
      facts.serverSpans++;
      const named = routeKey >= 0 && attributeById(table, row, routeKey) !== undefined;
      if (!named && METHOD.test(table.strings.text(table.name[row]))) facts.withoutRoute++;
    }
    const segment = classes.segment[row];
    const own = classes.resource[row] < 0 ? '' : classes.resources[classes.resource[row]];
    // Time of a service below the root's is called downstream for want of anything better (rule 6).
    const unexplained =
      segment === unaccounted ||
      (segment === downstream && classes.inferred[row] === 1 && own === resource.service);
    const ns = partition.owned[row];
    facts.ns += ns;
    if (unexplained) {
      facts.unmeasuredNs += ns;
      addUnmeasured(facts, table.strings.text(table.name[row]), scope.name, ns);
    } else {
      const name = SEGMENTS[segment];
      const seen = facts.segments.get(name) ?? { spans: 0, resources: new Set<string>() };
      facts.segments.set(name, seen);
      seen.spans++;
      if (isWait(segment) && classes.inferred[row] === 0) facts.statedWaits++;
      if (own !== '') seen.resources.add(own);
    }
  }
  for (const tree of forest.trees) {
    const facts = factsOf(table.resources[table.resource[tree.root]]);
    facts.trees++;
    if (tree.kind === 'orphan') facts.orphanRoots++;
    if (table.kind[tree.root] === KIND.client) facts.clientRoots++;
  }
  return [...byService.values()].sort((a, b) => b.ns - a.ns || (a.service < b.service ? -1 : 1));

  function factsOf(resource: Resource): ServiceFacts {
    const known = byService.get(resource.service);
    if (known !== undefined) return known;
    const facts: ServiceFacts = {
      service: resource.service,
      resource,
      instances: new Set(),
      scopes: new Map(),
      segments: new Map(),
      unmeasured: new Map(),
      databases: new Set(),
      spans: 0,
      serverSpans: 0,
      withoutRoute: 0,
      clientRoots: 0,
      orphanRoots: 0,
      trees: 0,
      ns: 0,
      unmeasuredNs: 0,
      wholeMillisecondStarts: 0,
      holds: 0,
      statedWaits: 0,
    };
    byService.set(resource.service, facts);
    return facts;
  }
}

function countScope(facts: ServiceFacts, name: string, version: string): void {
  const key = `${name}@${version}`;
  const scope = facts.scopes.get(key);
  if (scope === undefined) facts.scopes.set(key, { name, version, spans: 1 });
  else scope.spans++;
}

function addUnmeasured(facts: ServiceFacts, name: string, scope: string, ns: number): void {
  const key = `${scope} ${name}`;
  let entry = facts.unmeasured.get(key);
  if (entry === undefined) facts.unmeasured.set(key, (entry = { name, scope, spans: 0, ns: 0 }));
  entry.spans++;
  entry.ns += ns;
}

/** @returns 1 - share of unexplained time, 0..1; null for a service without time. */
export function accountedShare({ ns, unmeasuredNs }: ServiceFacts): number | null {
  return ns > 0 ? 1 - unmeasuredNs / ns : null;
}

/** @returns whether it only calls: a load generator, a browser. Nobody's queue is in it. */
export function isClientOnly({ serverSpans, clientRoots }: ServiceFacts): boolean {
  return serverSpans === 0 && clientRoots > 0;
}

/** @returns whether spans of `@waitfall/instrumentation` are among those of the service. */
export function hasWaitfall(facts: ServiceFacts): boolean {
  return [...facts.scopes.values()].some(({ name }) => name === SCOPE_NAME);
}

/** @returns what runs there: `Node.js 24.21.0, OpenTelemetry SDK 3.1.1`; empty where the export does not say. */
export function runtimeText({ attributes }: Resource): string {
  const text = (key: string) => textOf(attributes, key);
  const language = text('telemetry.sdk.language');
  const runtime = text('process.runtime.name') || language;
  const version = text('process.runtime.version');
  const sdk = text('telemetry.sdk.name');
  const parts = [
    runtime === 'nodejs' ? `Node.js ${version}`.trim() : `${runtime} ${version}`.trim(),
    sdk === 'waitfall'
      ? 'standalone mode'
      : sdk === ''
        ? ''
        : `${sdk === 'opentelemetry' ? 'OpenTelemetry SDK' : sdk} ${text('telemetry.sdk.version')}`.trim(),
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** @returns a resource attribute as text, empty where there is none. */
export function textOf(attributes: Attributes, key: string): string {
  const value = attributes.get(key);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
