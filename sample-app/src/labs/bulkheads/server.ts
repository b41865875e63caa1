/**
 * A service that calls another one behind a bulkhead: `server.ts ORIGIN MODE SIZE QUEUE SLOTS`.
 *
 * MODE: `none`, `threads` (a pool of worker threads) or `semaphore`, of SIZE, with QUEUE places to wait.
 * SLOTS bounds the whole service. `GET /order?ms=20` calls downstream, `GET /plain` does not.
 */
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { admission, withHold } from '@waitfall/instrumentation';
import express from 'express';
import { Piscina } from 'piscina';
import { listenForParent } from '../listen.ts';
import { BulkheadFullError, Semaphore } from '../semaphore.ts';
import { priceClient } from './price-client.ts';

const [origin = '', mode = 'none', ...sizes] = process.argv.slice(2);
const [size = 0, queue = 0, slots = 0] = sizes.map(Number);

/** How piscina says that its queue is full; it has no code for it. */
const PISCINA_FULL = 'Task queue is at limit';

/** @returns the way to a price in this mode; it throws {@link BulkheadFullError} where there is no room. */
function priceThroughBulkhead(): (ms: number) => Promise<unknown> {
  if (mode === 'threads') {
    const threads = new Piscina({
      filename: fileURLToPath(new URL('price-worker.ts', import.meta.url)),
      minThreads: size,
      maxThreads: size,
      maxQueue: queue,
      workerData: { origin },
      execArgv: [],
    });
    return async (ms) => {
      try {
        return await threads.run({ ms });
      } catch (error) {
        throw (error as Error).message === PISCINA_FULL ? new BulkheadFullError(PISCINA_FULL) : error;
      }
    };
  }
  const ask = priceClient(origin, 1024);
  if (mode === 'none') return ask;
  const semaphore = new Semaphore(size, queue);
  return (ms) =>
    withHold('bulkhead:price', () => ask(ms), {
      acquire: () => semaphore.acquire(),
      release: () => semaphore.release(),
      capacity: semaphore.permits,
      inUse: semaphore.inUse,
      queueDepth: semaphore.waiting,
    });
}

const price = priceThroughBulkhead();
let wasted = 0;
const app = express();
app.get('/wasted', (_request, response) => {
  response.json({ wasted });
});
app.use(admission({ maxConcurrent: slots, maxQueue: slots }));
app.get('/plain', (_request, response) => {
  response.json({ ok: true });
});
app.get('/order', async (request, response) => {
  try {
    const detail = await price(Number(request.query['ms']));
    if (response.destroyed) wasted++;
    else response.json({ order: 1, detail });
  } catch (error) {
    if (!(error instanceof BulkheadFullError)) throw error;
    response.status(503).json({ error: 'BULKHEAD_FULL' });
  }
});
listenForParent(createServer(app));
