import {
  ATTR_HOLD_DURATION_NS,
  ATTR_OUTCOME,
  ATTR_RESOURCE,
  ATTR_RESOURCE_CAPACITY,
  ATTR_SEGMENT,
  SCOPE_NAME,
  waitSpanName,
} from '@waitfall/instrumentation/conventions';
import { KIND } from '../../../analyzer/src/model/span.ts';
import { Random } from '../random.ts';
import type { Run } from '../run.ts';
import type { ExportOptions, ExportSpan } from './types.ts';

/** Ids of remote spans: two for each call, from here on. */
const FIRST_REMOTE_ID = 2e9;
const MAX_SKEW_NS = 8e6;

/**
 * @returns what the HTTP servers called would export: a SERVER span under each CLIENT span, its wait for one of the
 * server's slots inside, all by the server's own clock. A server goes on when its caller has given up.
 */
export function remoteSpans(
  run: Run,
  exported: ReadonlySet<number>,
  { capacities, spans }: ExportOptions,
): ExportSpan[] {
  const { scenario } = run;
  const random = new Random(scenario.seed, 14);
  const skew = scenario.servers.map(() => Math.round(random.between(-MAX_SKEW_NS, MAX_SKEW_NS)));
  const remote: ExportSpan[] = [];
  for (const span of run.spans) {
    if (span.role !== 'call' || !exported.has(span.id)) continue;
    const server = scenario.servers[span.place];
    const common = {
      trace: span.trace,
      process: scenario.replicas.length + span.place,
      failed: false,
      blockedBy: [],
      traceState: '',
    };
    const startNs = Math.max(0, span.startNs + skew[span.place]);
    const id = FIRST_REMOTE_ID + 2 * span.id;
    remote.push({
      ...common,
      id,
      parent: span.id,
      name: span.name,
      kind: KIND.server,
      startNs,
      endNs: startNs + (span.servedToNs - span.startNs),
      scope: '@opentelemetry/instrumentation-http',
      attributes: new Map<string, string | number>([
        ['http.request.method', span.name.split(' ')[0]],
        ['http.response.status_code', 200],
      ]),
    });
    if (spans === 'official') continue;
    remote.push({
      ...common,
      id: id + 1,
      parent: id,
      name: waitSpanName('http.server'),
      kind: KIND.internal,
      startNs,
      endNs: startNs + (span.servedFromNs - span.startNs),
      scope: SCOPE_NAME,
      attributes: new Map<string, string | number>([
        [ATTR_SEGMENT, 'admission_wait'],
        [ATTR_RESOURCE, 'http.server'],
        ...(capacities ? [[ATTR_RESOURCE_CAPACITY, server.capacity] as const] : []),
        [ATTR_OUTCOME, 'acquired'],
        [ATTR_HOLD_DURATION_NS, span.servedToNs - span.servedFromNs],
      ]),
    });
  }
  return remote;
}
