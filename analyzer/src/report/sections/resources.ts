import type { ResourceRow, ResourceWindow } from '../../aggregate/types.ts';
import { type Block, list, type Section, section } from '../document.ts';
import type { Report } from '../types.ts';
import { count, duration, number, percent, rate } from '../units.ts';

/** The first queue, or the next to saturate where none did, step by step. */
export function firstQueueSection({ resources, verdict }: Report): Section[] {
  const named = verdict.first ?? verdict.next;
  if (named === null) return [];
  const service = verdict.first?.service;
  const row = resources.find(
    (r) => r.resource === named.resource && (service === undefined || r.service === service),
  );
  if (!row) return [];
  return section(`${row.resource}, step by step`, [stepTable(row), holdList(row)]);
}

function stepTable({ windows, busiestKey }: ResourceRow): Block {
  return {
    type: 'table',
    columns: [
      { title: 'arrivals', align: 'right' },
      { title: 'busy', align: 'right' },
      { title: 'waited', align: 'right', spare: 1 },
      { title: 'mean wait', align: 'right' },
      { title: 'p99 wait', align: 'right', spare: 2 },
      { title: 'mean hold', align: 'right' },
      { title: '= own', align: 'right' },
      { title: '+ inside', align: 'right' },
      { title: 'depth', align: 'right', spare: 5 },
      { title: 'lost', align: 'right', spare: 4 },
    ],
    rows: windows.map((w) => [
      rate(w.arrivalsPerSecond),
      percent(w.utilization),
      percent(w.pWait),
      duration(w.meanWaitNs),
      duration(w.p99WaitNs),
      duration(w.meanHoldNs),
      duration(w.ownHoldNs),
      duration(insideNs(w)),
      number(w.meanQueueDepth),
      count(w.rejected + w.timedOut),
    ]),
    notes: [
      'busy: utilisation; waited: share of arrivals that had to wait;',
      '+ inside: waits for other queues while holding this one.',
      ...(busiestKey === null
        ? []
        : ['Busy and hold are of the busiest row, arrivals and waits of all rows.']),
    ],
  };
}

/** Waits for other queues inside a hold, ns. */
function insideNs({ meanHoldNs, ownHoldNs }: ResourceWindow): number | null {
  return meanHoldNs === null || ownHoldNs === null ? null : Math.max(0, meanHoldNs - ownHoldNs);
}

function holdList({ resource, holdComposition }: ResourceRow): Block | null {
  if (holdComposition.length === 0) return null;
  const items = holdComposition
    .slice(0, 8)
    .map(
      ({ what, share, movable }) =>
        `${percent(share)} ${what}${movable ? ' (does not need it: movable)' : ''}`,
    );
  return list([`inside a hold of ${resource}: ${items.join(', ')}`]);
}

/** All queues, the next to saturate first. */
export function headroomSection({ resources, windows }: Report): Section[] {
  if (resources.length === 0) return [];
  const top = windows.reduce(
    (best, w, i) => (w.receivedPerSecond > (windows[best]?.receivedPerSecond ?? -1) ? i : best),
    -1,
  );
  const order = [...resources].sort(
    (a, b) => (a.saturatesAtPerSecond ?? Infinity) - (b.saturatesAtPerSecond ?? Infinity),
  );
  return section('Queues, the next to saturate first', [
    {
      type: 'table',
      columns: [
        { title: 'queue', align: 'left' },
        { title: 'service', align: 'left', spare: 4 },
        { title: 'servers', align: 'right' },
        { title: 'busy', align: 'right' },
        { title: 'visits', align: 'right', spare: 3 },
        { title: 'own demand', align: 'right' },
        { title: 'saturates at', align: 'right' },
        { title: 'wait and hold', align: 'left', spare: 2 },
      ],
      rows: order.map((row) => [
        row.resource,
        row.instances > 1 ? `${row.service} ×${row.instances}` : row.service,
        capacity(row),
        percent(row.windows[top]?.utilization),
        number(row.visitsPerRequest),
        duration(row.ownDemandNs),
        rate(row.saturatesAtPerSecond),
        row.pattern ?? '',
      ]),
      notes: [
        'busy: at the highest rate; ~ servers inferred, not stated;',
        'own demand: time per request a server is needed, without waits nested in it.',
      ],
    },
  ]);
}

function capacity({ capacity: servers, capacityFrom }: ResourceRow): string {
  return servers === null ? number(null) : `${capacityFrom === 'inferred' ? '~' : ''}${number(servers)}`;
}
