import type { Meter } from '@opentelemetry/api';
import { ATTR_RESOURCE, ATTR_SEGMENT, PREFIX_CONNECT, WAIT_SEGMENTS } from '../conventions.ts';
import type { SegmentRecord } from '../core/emit.ts';
import { addTap } from '../core/taps.ts';

/** Seconds; those of the database conventions, with finer ones below. */
const BOUNDARIES = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const WAITS: ReadonlySet<string> = new Set(WAIT_SEGMENTS);
export const ATTR_POOL_NAME = 'db.client.connection.pool.name';

/** What is in a pool of a general library is not known: such pools count as those of databases, which most are. */
const DATABASE_POOL = /^(?:pg|knex|tarn|sequelize|generic|mysql2|postgres)-pool(?::(.+)|#\d+)?$/;

/** @returns the name of a database pool (the resource's where it has none), or undefined where a resource is none. */
export function databasePool(resource: string): string | undefined {
  const found = DATABASE_POOL.exec(resource);
  return found === null ? undefined : (found[1] ?? resource);
}

/**
 * Records every wait and hold, of sampled and of unsampled requests alike: what a share of the spans can only
 * estimate. https://opentelemetry.io/docs/specs/semconv/database/database-metrics/#connection-pools
 */
export function recordWaits(meter: Meter): void {
  const seconds = (name: string, description: string) =>
    meter.createHistogram(name, {
      unit: 's',
      description,
      advice: { explicitBucketBoundaries: BOUNDARIES },
    });
  const wait = seconds('waitfall.wait.duration', 'Time that requests waited for a resource.');
  const poolWait = seconds(
    'db.client.connection.wait_time',
    'The time it took to obtain an open connection from the pool.',
  );
  const poolCreate = seconds(
    'db.client.connection.create_time',
    'The time it took to create a new connection.',
  );
  const poolUse = seconds(
    'db.client.connection.use_time',
    'The time between borrowing a connection and returning it to the pool.',
  );
  const timeouts = meter.createCounter('db.client.connection.timeouts', {
    unit: '{timeout}',
    description:
      'The number of connection timeouts that have occurred trying to obtain a connection from the pool.',
  });
  addTap({
    recorded(record: SegmentRecord) {
      const { segment, resource, outcome, holdMs } = record;
      if (!WAITS.has(segment)) return;
      const waitSeconds = (record.endMs - record.startMs) / 1e3;
      wait.record(waitSeconds, { [ATTR_SEGMENT]: segment, [ATTR_RESOURCE]: resource });
      if (segment === 'connection_wait' && resource.startsWith(PREFIX_CONNECT)) {
        const created = databasePool(resource.slice(PREFIX_CONNECT.length));
        if (created !== undefined) poolCreate.record(waitSeconds, { [ATTR_POOL_NAME]: created });
      }
      const pool = segment === 'pool_wait' ? databasePool(resource) : undefined;
      if (pool === undefined) return;
      const attributes = { [ATTR_POOL_NAME]: pool };
      if (outcome === 'timeout') timeouts.add(1, attributes);
      else if (outcome === 'acquired') poolWait.record(waitSeconds, attributes);
      if (holdMs !== undefined) poolUse.record(holdMs / 1e3, attributes);
    },
  });
}
