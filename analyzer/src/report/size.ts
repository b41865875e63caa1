import type { QueueSize } from '../infer/queue-size.ts';
import { type Document, list, paragraph, section } from './document.ts';
import { count, duration, number, rate } from './units.ts';

/** Lays out the size of every queue at a rate: the rule of thumb beside Erlang C. */
export function layOutSizes(
  sizes: readonly QueueSize[],
  requestsPerSecond: number,
  meanWaitNs: number,
): Document {
  return {
    sections: [
      {
        title: '',
        blocks: [
          paragraph(
            `Servers each queue needs at ${rate(requestsPerSecond)} for a mean wait of at most ${duration(meanWaitNs)}`,
          ),
        ],
      },
      ...section('', [
        sizes.length === 0
          ? paragraph('No queue of this input has both visits and holds that could be measured.')
          : {
              type: 'table',
              columns: [
                { title: 'queue', align: 'left', least: 20 },
                { title: 'arrivals', align: 'right' },
                { title: 'hold', align: 'right' },
                { title: 'busy', align: 'right' },
                { title: 'now', align: 'right' },
                { title: 'wait now', align: 'right', spare: 1 },
                { title: '×1.5–2', align: 'right' },
                { title: 'Erlang C', align: 'right' },
                { title: 'wait', align: 'right', spare: 2 },
              ],
              rows: sizes.map((size) => [
                size.resource,
                rate(size.arrivalsPerSecond),
                duration(size.meanHoldNs),
                number(size.offeredLoad),
                number(size.capacity),
                waitNow(size),
                size.sizable ? `${size.ruleOfThumb.low}–${size.ruleOfThumb.high}` : '–',
                size.sizable ? count(size.erlangServers) : '–',
                size.sizable ? duration(size.erlangWaitNs) : '–',
              ]),
            },
      ]),
      ...section('Read it like this', [
        list([
          'busy: servers in use on average: arrivals × hold, as it was in the calmest step',
          '×1.5–2: the rule of thumb; Erlang C: the smallest number that keeps the mean wait, for random arrivals',
          ...(sizes.some((size) => !size.sizable && size.capacity !== null && size.waitNowNs === null)
            ? [
                'a lock that cannot keep up stretches the holds of the queues around it: mend it before sizing them',
              ]
            : []),
          ...(sizes.some((size) => !size.sizable)
            ? ['a row lock has one server: shorten its hold or split the row, it cannot be made larger']
            : []),
          ...(sizes.some((size) => size.kind === 'eventloop')
            ? ['the event loop has one server a process: its size is a number of processes']
            : []),
        ]),
      ]),
    ],
  };
}

function waitNow({ capacity, waitNowNs }: QueueSize): string {
  if (capacity === null) return '–';
  return waitNowNs === null ? 'too few' : duration(waitNowNs);
}
