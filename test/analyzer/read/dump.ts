import type { Attributes } from '../../../analyzer/src/model/attributes.ts';
import type { Input, Metric, MetricPoint } from '../../../analyzer/src/model/input.ts';
import { KIND, STATUS } from '../../../analyzer/src/model/span.ts';
import {
  attributes,
  endUnixNano,
  FLAG,
  parentIdText,
  type SpanTable,
  spanIdText,
  startUnixNano,
} from '../../../analyzer/src/model/span-table.ts';

const KINDS = Object.keys(KIND);
const STATUSES = Object.keys(STATUS);

/** One line a span, sorted: `trace/span < parent service "name" kind status [start, end) {attributes} …`. */
export function dumpSpans(table: SpanTable): string {
  const lines: string[] = [];
  for (let row = 0; row < table.length; row++) lines.push(dumpSpan(table, row));
  return `${lines.sort().join('\n')}\n`;
}

function dumpSpan(table: SpanTable, row: number): string {
  const flags = table.flags[row];
  const resource = table.resources[table.resource[row]];
  const scope = table.scopes[table.scope[row]];
  const message = table.strings.text(table.statusMessage[row]);
  const state = table.strings.text(table.traceState[row]);
  const time = (missing: number, value: bigint) => (flags & missing ? 'none' : String(value));
  return [
    `${table.traceIds[table.trace[row]]}/${spanIdText(table, row)}`,
    `< ${parentIdText(table, row) || '-'}`,
    `${resource.service}${dumpAttributes(resource.attributes, ['service.name'])}`,
    `${scope.name}@${scope.version}`,
    JSON.stringify(table.strings.text(table.name[row])),
    KINDS[table.kind[row]],
    STATUSES[table.status[row]] + (message ? `(${message})` : ''),
    `[${time(FLAG.noStart, startUnixNano(table, row))}, ${time(FLAG.noEnd, endUnixNano(table, row))})`,
    dumpAttributes(attributes(table, row)),
    ...(state ? [`state ${state}`] : []),
    ...(flags & FLAG.followsFrom ? ['follows'] : []),
    ...(flags & FLAG.shared ? ['shared'] : []),
    ...(table.links.get(row) ?? []).map(
      (link) => `-> ${link.traceId}/${link.spanId}${dumpAttributes(link.attributes)}`,
    ),
    ...(table.events.get(row) ?? []).map(
      (event) => `* ${event.timeUnixNano ?? 'none'} ${event.name}${dumpAttributes(event.attributes)}`,
    ),
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function dumpAttributes(all: Attributes, except: readonly string[] = []): string {
  const entries = [...all].filter(([key]) => !except.includes(key)).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0
    ? ''
    : `{${entries.map(([key, value]) => `${key}=${dumpValue(value)}`).join(', ')}}`;
}

function dumpValue(value: unknown): string {
  return JSON.stringify(value, (_key, v) => (typeof v === 'bigint' ? `${v}n` : Number.isNaN(v) ? 'NaN' : v));
}

/** One line a metric and a point. */
export function dumpMetrics(metrics: readonly Metric[]): string {
  return metrics
    .flatMap((metric) => [
      `${metric.name}[${metric.unit}] ${metric.temporality}${metric.monotonic ? ' monotonic' : ''} ${dumpAttributes(metric.resource)}`,
      ...metric.points.map((point) => `  ${dumpPoint(point)}`),
    ])
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

function dumpPoint(point: MetricPoint): string {
  const { kind, timeUnixNano, startUnixNano, attributes, ...rest } = point;
  return `${kind} ${startUnixNano ?? '-'}..${timeUnixNano} ${dumpAttributes(attributes)} ${dumpValue(rest)}`;
}

/** What each file was taken for, and everything rejected. */
export function dumpAccount(input: Input): string {
  const files = input.files.map(
    (file) =>
      `${file.path}: ${file.format}, ${file.spans} spans, ${file.rejected} rejected${file.note ? ` (${file.note})` : ''}`,
  );
  const rejected = input.rejected.map(({ file, line, record, offset, reason }) => {
    const where = [
      line === undefined ? '' : `line ${line}`,
      record === undefined ? '' : `record ${record}`,
      offset === undefined ? '' : `offset ${offset}`,
    ];
    return `  ${file} ${where.filter((text) => text !== '').join(' ')}: ${reason}`;
  });
  return `${[...files, ...rejected].join('\n')}\n`;
}
