// The answer depends on another service, which takes 40 ms.
import { createServer } from 'node:http';
import { listen } from './listen.mjs';

listen(
  createServer(async (_request, response) => {
    const price = await fetch(process.env.REMOTE_URL);
    response.end(await price.text());
  }),
);
