import type { QueueModel } from '../../aggregate/queue-model.ts';
import type { Finding } from './finding.ts';

interface Nested {
  readonly outer: QueueModel;
  readonly inner: QueueModel;
  readonly outerServers: number;
  readonly innerServers: number;
}

/** Of the outer holds, at least this share contains a visit to the inner queue. */
const FEEDS = 0.5;

/** An outer queue that lets in more than the inner one it feeds can serve only moves the waiting inside. */
export const outerLargerThanInner: Finding<Nested> = {
  id: 'outer-larger-than-inner',
  check({ models, frame }, { status }) {
    if (status === 'not-enough-data') return [];
    const found: Nested[] = [];
    for (const outer of models) {
      if (outer.kind !== 'admission' || outer.capacity === null) continue;
      for (const inner of models) {
        if (inner.kind !== 'pool' || inner.capacity === null || inner.queue.service !== outer.queue.service)
          continue;
        const outerHolds = sum(frame.rising, outer.series.holds);
        const together = outer.series.togetherNs.get(inner.queue.index);
        if (!together || outerHolds === 0) continue;
        const feeds = sum(frame.rising, inner.series.holds) / outerHolds;
        if (feeds >= FEEDS && outer.capacity > inner.capacity) {
          found.push({ outer, inner, outerServers: outer.capacity, innerServers: inner.capacity });
        }
      }
    }
    return found;
  },
  format: ({ outer, inner, outerServers, innerServers }) =>
    `${outer.label} admits ${outerServers} requests while ${inner.label} serves ${innerServers}: up to ${outerServers - innerServers} wait inside, holding a slot`,
  summary: (count) =>
    count === 1 ? 'outer queue larger than the inner one' : 'outer queues larger than the inner ones',
  resource: ({ outer }) => outer.label,
  values: ({ inner, outerServers, innerServers }) => ({
    inner: inner.name,
    outerCapacity: outerServers,
    innerCapacity: innerServers,
  }),
};

function sum(windows: readonly number[], values: Float64Array): number {
  return windows.reduce((total, w) => total + values[w], 0);
}
