import type { RequestGroup } from '../../aggregate/types.ts';
import { type Block, type Section, section } from '../document.ts';
import type { Report } from '../types.ts';
import { count, duration, percent } from '../units.ts';
import { partName } from './decomposition.ts';
import { failures, OPEN_NOTE, p99Text } from './steps.ts';

/** Rows shown; the JSON report has them all. */
const MOST_ROWS = 15;

/** The requests by route. */
export function routeSections({ routes }: Report): Section[] {
  if (routes.length < 2) return [];
  return section('Routes', [
    groupTable(
      'route',
      routes.map((route) => ({ name: route.route, group: route })),
    ),
  ]);
}

/** Groups of requests, one a row, with the part that takes most of their time. */
export function groupTable(title: string, groups: readonly { name: string; group: RequestGroup }[]): Block {
  const shown = groups.slice(0, MOST_ROWS);
  const notes = [
    groups.length > shown.length ? `${count(groups.length - shown.length)} more in the JSON report.` : '',
    shown.some(({ group }) => p99Text(group.latencyNs).endsWith('*')) ? OPEN_NOTE : '',
  ].filter((note) => note !== '');
  return {
    type: 'table',
    columns: [
      { title, align: 'left', least: 24 },
      { title: 'n', align: 'right' },
      { title: 'p50', align: 'right' },
      { title: 'p99', align: 'right' },
      { title: 'errors', align: 'right' },
      { title: 'largest part', align: 'left', spare: 1, least: 20 },
    ],
    rows: shown.map(({ name, group }) => {
      const failed = failures(group.byOutcome);
      const largest = group.segments[0];
      return [
        name,
        count(group.count),
        duration(group.latencyNs.p50),
        p99Text(group.latencyNs),
        failed === 0 ? '0' : percent(failed / group.count),
        largest ? `${partName(largest)} ${percent(largest.share)}` : '',
      ];
    }),
    notes,
  };
}
