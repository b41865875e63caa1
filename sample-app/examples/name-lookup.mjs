// A name server that takes 40 ms, and a connection for each call: requests wait for a name.
import { Agent, createServer, get } from 'node:http';
import { listen } from './listen.mjs';

const { port, pathname } = new URL(process.env.REMOTE_URL);
const agent = new Agent({
  lookup: (_name, { all }, done) => {
    const answer = () =>
      all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4);
    setTimeout(answer, 40);
  },
});

listen(
  createServer((_request, response) => {
    get({ host: 'price.test', port, path: pathname, agent }, (price) => price.pipe(response));
  }),
  () => agent.destroy(),
);
