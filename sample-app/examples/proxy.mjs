// A proxy in front took each request 40 ms ago, and says so: where it is believed, the request begins there.
import { createServer } from 'node:http';
import { listen } from './listen.mjs';

listen(
  createServer((_request, response) => {
    setTimeout(() => response.end('done'), 20);
  }),
);
