// Asks another service, in each of the ways there are, and answers when that has answered.
import { createServer, get } from 'node:http';
import { request as ask } from 'undici';

const remote = process.env.REMOTE_URL;

const ways = {
  '/http': () =>
    new Promise((resolve, reject) => {
      get(`${remote}/http`, (response) => response.resume().once('end', resolve)).once('error', reject);
    }),
  '/fetch': async () => (await fetch(`${remote}/fetch`)).text(),
  '/undici': async () => (await ask(`${remote}/undici`)).body.text(),
};

const server = createServer(async (request, response) => {
  await ways[request.url]?.();
  response.end('done');
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }));
process.on('message', (message) => {
  if (message !== 'stop') return;
  server.close();
  server.closeAllConnections();
  process.disconnect();
});
