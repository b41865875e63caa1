import { list, paragraph, type Section, section } from '../document.ts';
import type { Report } from '../types.ts';
import { fileLine, plural } from './head.ts';
import { repairSections } from './repairs.ts';

/** What to say of an input without a usable trace: one line a file with the reason, and what it held instead. */
export function noTraceSections(report: Report): Section[] {
  const { files, rejected } = report.input;
  const lines = files.map((file) => {
    const why = rejected.find((each) => each.file === file.path)?.reason;
    return why === undefined ? fileLine(file) : `${fileLine(file)}: ${why}`;
  });
  return [
    ...section('', [
      { type: 'line', text: 'No usable trace in the input' },
      paragraph(summary(report)),
      list(lines),
      paragraph(whatToDo(report)),
    ]),
    ...repairSections(report),
  ];
}

function whatToDo({ input: { files, metrics, skipped } }: Report): string {
  if (metrics.metrics + skipped.logs + skipped.profiles > 0)
    return 'An answer needs spans: export traces too.';
  if (files.every(({ bytes }) => bytes === 0)) {
    return 'There is nothing in it yet: spans are written every few seconds, and when the service ends.';
  }
  return 'Traces are read as OTLP (JSON or protobuf), Jaeger, Zipkin and Tempo export them, plain, gzip or zstd.';
}

function summary({ input }: Report): string {
  const { spanRecords, metrics, skipped } = input;
  return [
    plural(spanRecords, 'span record'),
    `${plural(metrics.metrics, 'metric')} with ${plural(metrics.dataPoints, 'data point')}`,
    plural(skipped.logs, 'log record'),
    plural(skipped.profiles, 'profile'),
  ].join(', ');
}
