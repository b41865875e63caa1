import type { Attributes, Meter, Observable } from '@opentelemetry/api';
import { poolStates } from '../adapters/pool-state.ts';
import { openSlotsByPool } from '../adapters/slot-wait.ts';
import { ATTR_RESOURCE } from '../conventions.ts';
import { hasOfficialPg } from '../core/started-span.ts';
import { openPools } from '../pg/pool-name.ts';
import { openHoldsByPool } from '../pg/pool-wait.ts';
import { LastValues } from './last-values.ts';
import { ATTR_POOL_NAME, databasePool } from './waits.ts';

const ATTR_STATE = 'db.client.connection.state';

/**
 * The state of every pool, read when somebody collects. What the official pg instrumentation counts of its pools
 * (`count`, `pending_requests`) is left to it where it is active; no official package counts the others.
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
  const instruments: Readonly<Record<string, Observable>> = { count, pending, max, open, oldest };
  const values = new LastValues();
  const observe = (name: string, value: number | undefined, attributes: Attributes) => {
    if (value !== undefined) values.observe(name, instruments[name], value, attributes);
  };
  const observeHolds = () => {
    for (const [resource, holds] of [...openHoldsByPool(), ...openSlotsByPool()]) {
      observe('open', holds.count, { [ATTR_RESOURCE]: resource });
      observe('oldest', holds.oldestMs / 1e3, { [ATTR_RESOURCE]: resource });
    }
  };
  const observeState = (
    resource: string,
    state: { max?: number; idle?: number; used?: number; pending?: number },
  ) => {
    const attributes = { [ATTR_POOL_NAME]: databasePool(resource) ?? resource };
    observe('max', state.max, attributes);
    observe('count', state.idle, { ...attributes, [ATTR_STATE]: 'idle' });
    observe('count', state.used, { ...attributes, [ATTR_STATE]: 'used' });
    observe('pending', state.pending, attributes);
  };
  meter.addBatchObservableCallback(
    (result) =>
      values.collect(result, () => {
        const official = hasOfficialPg();
        for (const [resource, pool] of openPools()) {
          const { totalCount: total, idleCount: idle, options } = pool;
          if (official || total === undefined || idle === undefined) {
            observeState(resource, { max: options?.max });
            continue;
          }
          const waiting = pool._pendingQueue?.length ?? 0;
          observeState(resource, { max: options?.max, idle, used: total - idle, pending: waiting });
        }
        for (const [resource, state] of poolStates()) observeState(resource, state);
        observeHolds();
      }),
    [count, pending, max, open, oldest],
  );
}
