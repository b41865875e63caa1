import { WAIT_SEGMENTS } from '@waitfall/instrumentation/conventions';
import type { SegmentName } from '../../classify/types.ts';
import type { Block, Document, Section } from '../../report/document.ts';
import { list, paragraph, section } from '../../report/document.ts';
import { plural } from '../../report/sections/head.ts';
import { count, percent } from '../../report/units.ts';
import type { Diagnosis } from './diagnose.ts';
import { accountedShare, isClientOnly, runtimeText, type ServiceFacts } from './facts.ts';

/** Waits that are worth a line where nobody measured them; the others are mentioned only where they are there. */
const EXPECTED: readonly SegmentName[] = [
  'admission_wait',
  'eventloop_wait',
  'pool_wait',
  'connection_wait',
  'lock_wait',
];
const SERVICE_TIME: readonly SegmentName[] = ['work', 'downstream', 'network', 'messaging'];

/** Lays out what was measured in each service, how much of its time that explains, and what to do. */
export function layOutDoctor(diagnoses: readonly Diagnosis[]): Document {
  const mend = diagnoses.flatMap(({ advice }) => advice).filter(({ level }) => level === 'mend').length;
  return {
    sections: [
      ...diagnoses.flatMap(serviceSection),
      ...section('', [
        {
          type: 'line',
          text: mend === 0 ? 'Nothing to mend' : `${plural(mend, 'thing')} to mend, marked with !`,
        },
      ]),
    ],
  };
}

function serviceSection({ facts, advice }: Diagnosis): Section[] {
  const { service, resource, instances, trees, spans } = facts;
  const runtime = runtimeText(resource);
  const share = accountedShare(facts);
  return [
    ...section(`Service ${service}`, [
      paragraph(
        [
          runtime,
          instances.size === 1 ? '1 process' : `${count(instances.size)} processes`,
          plural(spans, 'span'),
          trees === 0
            ? 'no trace begins here'
            : `${plural(trees, 'trace')} begin${trees === 1 ? 's' : ''} here`,
        ]
          .filter((part) => part !== '')
          .join('; '),
      ),
      paragraph(
        share === null
          ? 'None of its spans owns time.'
          : `${percent(share)} of its time is accounted for${share > 0.995 ? '' : '; nobody measured the rest'}.`,
      ),
      instrumentations(facts),
      measured(facts),
    ]),
    ...section('', [
      list(advice.map(({ level, text, how }) => `${level === 'mend' ? '! ' : ''}${text} Do: ${how}`)),
    ]),
  ];
}

function instrumentations({ scopes }: ServiceFacts): Block {
  const rows = [...scopes.values()].sort((a, b) => b.spans - a.spans || (a.name < b.name ? -1 : 1));
  return {
    type: 'table',
    columns: [
      { title: 'recorded by', align: 'left' },
      { title: 'version', align: 'left' },
      { title: 'spans', align: 'right' },
    ],
    rows: rows.map(({ name, version, spans }) => [name || '(no scope)', version || '–', count(spans)]),
  };
}

function measured(facts: ServiceFacts): Block {
  const { segments } = facts;
  const shown = [...WAIT_SEGMENTS, ...SERVICE_TIME].filter(
    (name) => (EXPECTED.includes(name) && !isClientOnly(facts)) || segments.has(name),
  );
  return {
    type: 'table',
    columns: [
      { title: 'measured', align: 'left' },
      { title: 'spans', align: 'right' },
      { title: 'where', align: 'left', least: 12 },
    ],
    rows: shown.map((name) => {
      const seen = segments.get(name);
      return [
        name,
        seen === undefined ? 'none' : count(seen.spans),
        seen === undefined ? '' : some(seen.resources),
      ];
    }),
  };
}

/** @returns the first names, and how many more there are. */
function some(names: ReadonlySet<string>): string {
  const all = [...names].sort();
  return all.length <= 3 ? all.join(', ') : `${all.slice(0, 2).join(', ')} and ${all.length - 2} more`;
}
