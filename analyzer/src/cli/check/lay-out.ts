import type { Document } from '../../report/document.ts';
import { plural } from '../../report/sections/head.ts';
import { type Judged, valueText } from './judge.ts';

/** Lays out judged budgets: a row each, then the answer on one line. */
export function layOutCheck(judged: readonly Judged[], requests: number): Document {
  const broken = judged.filter((each) => !each.kept).length;
  return {
    sections: [
      {
        title: `Budgets over ${plural(requests, 'request')}`,
        blocks: [
          {
            type: 'table',
            columns: [
              { title: 'budget', align: 'left' },
              { title: 'measured', align: 'right' },
              { title: '', align: 'left' },
            ],
            rows: judged.map(({ budget, value, kept }) => [
              budget.text,
              valueText(value, budget.measure),
              kept ? 'kept' : value === null ? 'UNKNOWN' : 'BROKEN',
            ]),
            notes: judged
              .filter(({ note }) => note !== '')
              .map(({ budget, note }) => `${budget.text}: ${note}`),
          },
        ],
      },
      {
        title: '',
        blocks: [
          {
            type: 'line',
            text:
              broken === 0
                ? 'All budgets are kept'
                : `${broken} of ${plural(judged.length, 'budget')} not kept`,
          },
        ],
      },
    ],
  };
}
