/** A service with four slots: `GET /work?ms=200` holds one of them for that long. */
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { admission } from '@waitfall/instrumentation';
import express from 'express';
import { listenForParent } from '../listen.ts';

const app = express();
app.get(
  '/work',
  admission({ maxConcurrent: 4, maxQueue: 10_000, timeoutMs: 250 }),
  async (request, response) => {
    const ms = Number(request.query['ms']);
    await sleep(ms);
    response.json({ ok: true, delayMs: ms });
  },
);
listenForParent(createServer(app));
