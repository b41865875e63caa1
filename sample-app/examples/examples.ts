import { UsageError } from '../src/run/command.ts';

/** One tiny service, and the wait that it shows. */
export interface Example {
  readonly name: string;
  /** Requests sent at the same time. */
  readonly requests: number;
  /** What it needs besides itself: a database, or another service. */
  readonly needs?: 'database' | 'remote';
  readonly env?: Readonly<Record<string, string>>;
  /** What a proxy in front of it would add to each request. */
  readonly headers?: () => Readonly<Record<string, string>>;
}

/** A proxy that took the request so long ago. */
const PROXY_MS = 40;

/** One example a kind of wait, in the order of the reports' legend. */
export const EXAMPLES: readonly Example[] = [
  { name: 'admission', requests: 5 },
  {
    name: 'proxy',
    requests: 5,
    env: { WAITFALL_QUEUE_HEADER: 'true' },
    headers: () => ({ 'x-request-start': `t=${Date.now() - PROXY_MS}` }),
  },
  { name: 'event-loop', requests: 5 },
  { name: 'thread-pool', requests: 5, env: { UV_THREADPOOL_SIZE: '1', WAITFALL_THREAD_POOL: 'true' } },
  { name: 'pool', requests: 5, needs: 'database' },
  { name: 'connection', requests: 3, needs: 'database' },
  { name: 'name-lookup', requests: 5, needs: 'remote' },
  { name: 'row-lock', requests: 5, needs: 'database' },
  { name: 'trigger-lock', requests: 5, needs: 'database', env: { WAITFALL_PG_LOCKS: 'true' } },
  { name: 'agent', requests: 5, needs: 'remote' },
  { name: 'downstream', requests: 5, needs: 'remote' },
  { name: 'gc', requests: 1 },
  { name: 'own-queue', requests: 5 },
];

/** @returns the example of that name. @throws UsageError that lists the names there are. */
export function exampleNamed(name: string): Example {
  const found = EXAMPLES.find((example) => example.name === name);
  if (found === undefined)
    throw new UsageError(`no example "${name}"; there are: ${EXAMPLES.map((one) => one.name).join(', ')}`);
  return found;
}
