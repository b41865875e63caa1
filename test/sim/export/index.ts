import { once } from 'node:events';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ATTR_LINK, ATTR_LINK_SAMPLES, LINK_BLOCKED_BY } from '@waitfall/instrumentation/conventions';
import type { AttributeValue } from '../../../analyzer/src/model/attributes.ts';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { STATUS } from '../../../analyzer/src/model/span.ts';
import { SpanTableBuilder } from '../../../analyzer/src/model/span-table.ts';
import type { Run } from '../run.ts';
import { stamp } from './clock.ts';
import { EPOCH_NS } from './epoch.ts';
import { Identities, processes, resourceAttributes } from './identity.ts';
import { loadPlanOf } from './load-plan.ts';
import { renderSpans } from './render.ts';
import { lose, sample } from './sample.ts';
import type { ExportOptions, ExportSpan } from './types.ts';

/** @returns the spans of a run as exported, in order of their end. */
export function exportSpans(run: Run, options: ExportOptions): ExportSpan[] {
  const kept = lose(sample(renderSpans(run, options), run, options.sampling), run, options.lost);
  return stamp(kept, options.clock, run.scenario.seed);
}

const linkAttributes = new Map<string, AttributeValue>([
  [ATTR_LINK, LINK_BLOCKED_BY],
  [ATTR_LINK_SAMPLES, 1],
]);

/** @returns what reading the files of {@link writeOtlp} would give, without files. */
export function toInput(run: Run, options: ExportOptions): Input {
  const { scenario } = run;
  const builder = new SpanTableBuilder();
  const ids = new Identities(scenario.seed);
  const resources = Array.from({ length: processes(scenario) }, (_, i) =>
    builder.resource(new Map(resourceAttributes(scenario, i))),
  );
  const spans = exportSpans(run, options);
  for (const span of spans) {
    builder.add({
      traceId: ids.trace(span.trace),
      spanId: ids.span(span.id),
      parentSpanId: span.parent < 0 ? '' : ids.span(span.parent),
      followsFrom: false,
      shared: false,
      name: span.name,
      kind: span.kind,
      startUnixNano: EPOCH_NS + BigInt(span.startNs),
      endUnixNano: EPOCH_NS + BigInt(span.endNs),
      statusCode: span.failed ? STATUS.error : STATUS.unset,
      statusMessage: '',
      traceState: span.traceState,
      resource: resources[span.process],
      scope: builder.scope(span.scope, '1.0.0'),
      attributes: span.attributes,
      links: span.blockedBy.map(({ trace, id }) => ({
        traceId: ids.trace(trace),
        spanId: ids.span(id),
        traceState: '',
        attributes: linkAttributes,
      })),
      events: [],
    });
  }
  return {
    table: builder.build(),
    metrics: [],
    files: [{ path: 'simulation', format: 'simulation', bytes: 0, spans: spans.length, rejected: 0 }],
    rejected: [],
    invalidIds: 0,
    skipped: { logs: 0, profiles: 0 },
    loadPlans: options.loadPlan
      ? [{ path: 'load.json', content: loadPlanOf(run) as unknown as AttributeValue }]
      : [],
  };
}

const BATCH = 512;

/** Writes `traces.jsonl` (OTLP JSON lines) and, where the options say so, `load.json` into a directory. */
export async function writeOtlp(run: Run, options: ExportOptions, directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const { scenario } = run;
  const ids = new Identities(scenario.seed);
  const out = createWriteStream(join(directory, 'traces.jsonl'));
  const batches = Array.from({ length: processes(scenario) }, (): ExportSpan[] => []);
  const flush = async (process: number): Promise<void> => {
    const spans = batches[process].splice(0);
    if (spans.length > 0 && !out.write(`${JSON.stringify(requestOf(run, process, spans, ids))}\n`)) {
      await once(out, 'drain');
    }
  };
  for (const span of exportSpans(run, options)) {
    batches[span.process].push(span);
    if (batches[span.process].length === BATCH) await flush(span.process);
  }
  for (const process of batches.keys()) await flush(process);
  out.end();
  await once(out, 'close');
  if (options.loadPlan) {
    writeFileSync(join(directory, 'load.json'), `${JSON.stringify(loadPlanOf(run), null, 2)}\n`);
  }
}

/** One ExportTraceServiceRequest: the spans of one process, grouped by scope. */
function requestOf(
  { scenario }: Run,
  process: number,
  spans: readonly ExportSpan[],
  ids: Identities,
): unknown {
  const byScope = Map.groupBy(spans, (span) => span.scope);
  return {
    resourceSpans: [
      {
        resource: { attributes: keyValues(resourceAttributes(scenario, process)) },
        scopeSpans: [...byScope].map(([name, group]) => ({
          scope: { name, version: '1.0.0' },
          spans: group.map((span) => ({
            traceId: ids.trace(span.trace),
            spanId: ids.span(span.id),
            ...(span.parent < 0 ? {} : { parentSpanId: ids.span(span.parent) }),
            ...(span.traceState === '' ? {} : { traceState: span.traceState }),
            name: span.name,
            kind: span.kind,
            startTimeUnixNano: String(EPOCH_NS + BigInt(span.startNs)),
            endTimeUnixNano: String(EPOCH_NS + BigInt(span.endNs)),
            attributes: keyValues([...span.attributes]),
            links: span.blockedBy.map(({ trace, id }) => ({
              traceId: ids.trace(trace),
              spanId: ids.span(id),
              attributes: keyValues([...linkAttributes]),
            })),
            status: span.failed ? { code: STATUS.error } : {},
          })),
        })),
      },
    ],
  };
}

function keyValues(attributes: readonly (readonly [string, AttributeValue])[]): unknown[] {
  return attributes.map(([key, value]) => ({
    key,
    value:
      typeof value === 'number'
        ? Number.isInteger(value)
          ? { intValue: String(value) }
          : { doubleValue: value }
        : typeof value === 'boolean'
          ? { boolValue: value }
          : { stringValue: String(value) },
  }));
}
