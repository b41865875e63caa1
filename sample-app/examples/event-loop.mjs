// Work of 40 ms that nothing interrupts: requests that come meanwhile wait for the event loop.
import { createServer } from 'node:http';
import { listen } from './listen.mjs';

listen(
  createServer((_request, response) => {
    const until = performance.now() + 40;
    while (performance.now() < until);
    response.end('done');
  }),
);
