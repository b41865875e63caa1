/** One thread of the worker pool: asks for one price at a time. */
import { workerData } from 'node:worker_threads';
import { priceClient } from './price-client.ts';

const ask = priceClient((workerData as { origin: string }).origin, 1);

export default function price({ ms }: { ms: number }): Promise<unknown> {
  return ask(ms);
}
