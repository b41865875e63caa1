// One slot, 40 ms in it: of requests that come together, each waits for those before it.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { admission } from '@waitfall/instrumentation';
import { listen } from './listen.mjs';

const gate = admission({ maxConcurrent: 1, maxQueue: 10 });

listen(
  createServer((request, response) =>
    gate(request, response, async () => {
      await sleep(40);
      response.end('done');
    }),
  ),
);
