// One socket to that service: requests wait for the socket, not for the service.
import { Agent, createServer, get } from 'node:http';
import { listen } from './listen.mjs';

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

listen(
  createServer((_request, response) => {
    get(process.env.REMOTE_URL, { agent }, (price) => price.pipe(response));
  }),
  () => agent.destroy(),
);
