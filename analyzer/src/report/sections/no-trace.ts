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
    ]),
    ...repairSections(report),
  ];
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
