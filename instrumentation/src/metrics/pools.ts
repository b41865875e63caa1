import type { Meter } from '@opentelemetry/api';
import { openSlotsByPool } from '../adapters/slot-wait.ts';
import { ATTR_RESOURCE } from '../conventions.ts';
import { hasOfficialPg } from '../core/started-span.ts';
import { openPools } from '../pg/pool-name.ts';
import { openHoldsByPool } from '../pg/pool-wait.ts';
import { ATTR_POOL_NAME, databasePool } from './waits.ts';

const ATTR_STATE = 'db.client.connection.state';

/**
 * The state of every pg pool, read when somebody collects. What the official pg instrumentation counts
 * (`count`, `pending_requests`) is left to it where it is active.
 */
export function observePools(meter: Meter): void {
  const count = meter.createObservableUpDownCounter('db.client.connection.count', {
    unit: '{connection}',
    description: 'The number of connections that are currently in state described by the state attribute.',
  });
  const pending = meter.createObservableUpDownCounter('db.client.connection.pending_requests', {
    unit: '{request}',
    description: 'The number of current pending requests for an open connection.',
  });
  const max = meter.createObservableUpDownCounter('db.client.connection.max', {
    unit: '{connection}',
    description: 'The maximum number of open connections allowed.',
  });
  const open = meter.createObservableGauge('waitfall.hold.open', {
    unit: '{hold}',
    description: 'Resources that are held now.',
  });
  const oldest = meter.createObservableGauge('waitfall.hold.oldest', {
    unit: 's',
    description: 'How long the oldest hold has lasted.',
  });
  meter.addBatchObservableCallback(
    (result) => {
      const official = hasOfficialPg();
      for (const [resource, pool] of openPools()) {
        const attributes = { [ATTR_POOL_NAME]: databasePool(resource) ?? resource };
        const { totalCount: total, idleCount: idle } = pool;
        if (pool.options?.max !== undefined) result.observe(max, pool.options.max, attributes);
        if (official || total === undefined || idle === undefined) continue;
        result.observe(count, idle, { ...attributes, [ATTR_STATE]: 'idle' });
        result.observe(count, total - idle, { ...attributes, [ATTR_STATE]: 'used' });
        result.observe(pending, pool._pendingQueue?.length ?? 0, attributes);
      }
      for (const [resource, holds] of [...openHoldsByPool(), ...openSlotsByPool()]) {
        result.observe(open, holds.count, { [ATTR_RESOURCE]: resource });
        result.observe(oldest, holds.oldestMs / 1e3, { [ATTR_RESOURCE]: resource });
      }
    },
    [count, pending, max, open, oldest],
  );
}
