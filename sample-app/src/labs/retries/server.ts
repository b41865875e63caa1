/**
 * A service with eight workers of 50 ms each and an endless queue before them, which does not notice that its
 * client has given up: `GET /work`.
 */
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { withHold } from '@waitfall/instrumentation';
import express from 'express';
import { listenForParent } from '../listen.ts';
import { Semaphore } from '../semaphore.ts';

const WORKERS = 8;
const WORK_MS = 50;

const workers = new Semaphore(WORKERS, Number.POSITIVE_INFINITY);
const app = express();
app.get('/work', async (_request, response) => {
  await withHold('workers', () => sleep(WORK_MS), {
    acquire: () => workers.acquire(),
    release: () => workers.release(),
    capacity: WORKERS,
    inUse: workers.inUse,
    queueDepth: workers.waiting,
  });
  response.json({ ok: true });
});
listenForParent(createServer(app));
