import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { jsonReport, toJson } from '../../report/json.ts';
import { layOut } from '../../report/layout.ts';
import { renderMarkdown } from '../../report/markdown.ts';
import { GLOSSARY } from '../glossary.ts';
import { BINDINGS } from '../keys.ts';
import type { Session } from '../session.ts';
import type { Frame } from '../state.ts';
import { orderTraces, sortColumns } from './traces.ts';

/** What `o` writes. */
export interface SavedView {
  /** File name without its extension. */
  readonly stem: string;
  readonly extension: 'json' | 'md';
  readonly text: string;
}

/** Waits of a queue that are written at most; the list on the screen ends there too. */
const MOST_WAITS = 200;

/**
 * Writes down what a view shows, in full where the screen has no room: texts as Markdown, everything that is a list or
 * a table as JSON. Times in ns, rates per second, the names those of the JSON report.
 */
export async function savedView(session: Session, frame: Frame, step: number): Promise<SavedView> {
  const { report } = session;
  const stem = `waitfall-${frame.view}`;
  const json = (value: object): SavedView => ({ stem, extension: 'json', text: `${toJson(value, 2)}\n` });
  const markdown = (text: string): SavedView => ({ stem, extension: 'md', text });
  switch (frame.view) {
    case 'verdict':
    case 'confidence':
      return markdown(renderMarkdown(layOut(report)));
    case 'compare':
      return session.comparison
        ? markdown(renderMarkdown(session.comparison.record))
        : { stem, extension: 'json', text: jsonReport(report) };
    case 'help':
      return markdown(helpText());
    case 'steps':
      return json({ windows: report.windows });
    case 'queues':
      return json({ window: step, resources: report.resources });
    case 'queue':
      return {
        ...json({
          resource: report.resources.find(({ resource }) => resource === frame.resource) ?? null,
          waits: await waitsOf(session, frame.resource),
        }),
        stem: `${stem}-${frame.resource.replaceAll(/[^\w.-]+/g, '-')}`,
      };
    case 'routes':
      return frame.by === ''
        ? json({ routes: report.routes })
        : json({ by: frame.by, values: await session.split(frame.by) });
    case 'traces':
      return json(listOf(session, frame));
    case 'trace': {
      const detail = await session.trace(frame.trace);
      const spans = await Promise.all(
        detail.rows.map(async (row) => ({ ...row, ...(await session.span(row.row)) })),
      );
      return { ...json({ ...detail, rows: spans }), stem: `${stem}-${detail.traceId.slice(0, 8)}` };
    }
    case 'input':
      return json({
        input: report.input,
        coverage: report.requests.coverage,
        parallelShare: report.requests.parallelShare,
      });
  }
}

async function waitsOf(session: Session, resource: string): Promise<object> {
  const { examples, ...rest } = await session.waits(resource, MOST_WAITS);
  return {
    ...rest,
    longest: examples.map((wait) => ({ traceId: session.traces.traceIds[wait.trace], ...wait })),
  };
}

/** The listed traces, in the order of the screen. */
function listOf(session: Session, frame: Frame): object {
  const { traces } = session;
  const columns = sortColumns(session);
  const { order } = orderTraces(session, frame.filter, frame.sort, frame.reverse);
  return {
    filter: frame.filter,
    sortedBy: columns[frame.sort % columns.length].name,
    traces: Array.from(order, (index) => ({
      traceId: traces.traceIds[index],
      service: traces.services[traces.service[index]],
      route: traces.routes[traces.route[index]],
      root: traces.kinds[traces.kind[index]],
      outcome: traces.outcomes[traces.outcome[index]],
      startUnixNano: traces.originUnixNano + BigInt(Math.round(traces.startNs[index])),
      durationNs: traces.durationNs[index],
      segmentsNs: Object.fromEntries(
        SEGMENTS.flatMap((name, segment) => {
          const ns = traces.segmentNs[segment][index];
          return ns > 0 ? [[name, ns]] : [];
        }),
      ),
    })),
  };
}

function helpText(): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|');
  const rows = (title: string, entries: readonly (readonly [string, string])[]): string =>
    [
      `## ${title}`,
      '',
      '| | |',
      '|---|---|',
      ...entries.map(([name, meaning]) => `| ${cell(name)} | ${cell(meaning)} |`),
      '',
    ].join('\n');
  return [
    rows(
      'Keys',
      BINDINGS.map(({ shown, label }) => [shown, label]),
    ),
    ...GLOSSARY.map(({ title, entries }) => rows(title, entries)),
  ].join('\n');
}
