import { ATTR_RESOURCE } from '@waitfall/instrumentation/conventions';
import { windowAt } from '../aggregate/intervals.ts';
import type { Frame, QueueModel } from '../aggregate/queue-model.ts';
import type { Requests } from '../aggregate/requests-types.ts';
import type { Metric } from '../model/input.ts';

/** A number of requests waiting, or of servers held, as a gauge counted it and as the spans add up to it. */
export interface GaugeComparison {
  readonly model: QueueModel;
  readonly gauge: string;
  readonly arrivalsPerSecond: number;
  readonly gauged: number;
  readonly fromSpans: number;
  readonly points: number;
}

const PENDING = 'db.client.connection.pending_requests';
const OPEN = 'waitfall.hold.open';
const ATTR_POOL_NAME = 'db.client.connection.pool.name';
const DATABASE_POOL = /^(?:pg|knex|tarn|sequelize|mysql2|postgres)-pool:(.+)$/;
/** Fewer readings of each process in a window are no average over it. */
const FEWEST_POINTS = 5;

/**
 * Little's law against an independent gauge: from spans alone L = λ W is an identity, since the time integral of waits is
 * both. The instrumentation's metrics count who waits and what is held at regular times, for sampled and unsampled
 * requests alike; per window their mean is compared with the time integral of the spans over the window's length.
 */
export function compareGauges(
  models: readonly QueueModel[],
  frame: Frame,
  requests: Requests,
  metrics: readonly Metric[],
): GaugeComparison[] {
  const { windows } = frame.timeline;
  return models.flatMap((model) =>
    [PENDING, OPEN].flatMap((gauge) => {
      const readings = readingsOf(model, gauge, frame, requests, metrics);
      return readings.flatMap((reading, w): GaugeComparison[] => {
        if (reading === null) return [];
        const { startNs, endNs, arrivalsPerSecond } = windows[w];
        const ns = gauge === PENDING ? model.series.queuedNs[w] : model.series.busyNs[w];
        return [
          {
            model,
            gauge,
            arrivalsPerSecond,
            gauged: reading.mean,
            fromSpans: ns / (endNs - startNs),
            points: reading.points,
          },
        ];
      });
    }),
  );
}

/** By window: mean of the gauge, summed over the processes; null where one of them has too few points. */
function readingsOf(
  model: QueueModel,
  gauge: string,
  { timeline }: Frame,
  requests: Requests,
  metrics: readonly Metric[],
): ({ mean: number; points: number } | null)[] {
  const { windows } = timeline;
  const byProcess = new Map<string, { sum: number[]; count: number[] }>();
  for (const { name, resource, points } of metrics) {
    if (name !== gauge || resource.get('service.name') !== model.queue.service) continue;
    const process = String(resource.get('service.instance.id') ?? '');
    for (const point of points) {
      if (point.kind !== 'number' || point.value === null || !isOf(model, gauge, point.attributes)) continue;
      const w = windowAt(windows, Number(point.timeUnixNano - requests.originUnixNano));
      if (w < 0) continue;
      let own = byProcess.get(process);
      if (!own) {
        own = { sum: windows.map(() => 0), count: windows.map(() => 0) };
        byProcess.set(process, own);
      }
      own.sum[w] += Number(point.value);
      own.count[w]++;
    }
  }
  const processes = [...byProcess.values()];
  const complete = processes.length > 0 && processes.length >= model.queue.instances.length;
  return windows.map((_, w) => {
    if (!complete || processes.some(({ count }) => count[w] < FEWEST_POINTS)) return null;
    return {
      mean: processes.reduce((total, { sum, count }) => total + sum[w] / count[w], 0),
      points: processes.reduce((total, { count }) => total + count[w], 0),
    };
  });
}

function isOf(model: QueueModel, gauge: string, attributes: Metric['points'][number]['attributes']): boolean {
  if (gauge === OPEN) return attributes.get(ATTR_RESOURCE) === model.name;
  const pool = attributes.get(ATTR_POOL_NAME);
  return pool !== undefined && (pool === model.name || pool === DATABASE_POOL.exec(model.name)?.[1]);
}
