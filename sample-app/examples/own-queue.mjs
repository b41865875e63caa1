// A queue that only the service knows: one printer, 40 ms a page. withHold() makes it visible.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { withHold } from '@waitfall/instrumentation';
import { listen } from './listen.mjs';

const waiting = [];
let busy = false;

async function acquire() {
  if (busy) await new Promise((resolve) => waiting.push(resolve));
  busy = true;
}

function release() {
  busy = false;
  waiting.shift()?.();
}

listen(
  createServer(async (_request, response) => {
    await withHold('printer', () => sleep(40), { acquire, release, capacity: 1 });
    response.end('done');
  }),
);
