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
  // As a proxy does: the headers of the request go on.
  '/http-proxy': ({ headers: { traceparent } }) =>
    new Promise((resolve, reject) => {
      const options = { headers: { traceparent } };
      get(`${remote}/http-proxy`, options, (response) => response.resume().once('end', resolve)).once(
        'error',
        reject,
      );
    }),
  '/fetch-proxy': async ({ headers: { traceparent } }) =>
    (await fetch(`${remote}/fetch-proxy`, { headers: { traceparent } })).text(),
  '/foreign': async () =>
    (await fetch(`${remote}/foreign`, { headers: { traceparent: process.env.FOREIGN_TRACEPARENT } })).text(),
  '/undici': async () => (await ask(`${remote}/undici`)).body.text(),
};

const server = createServer(async (request, response) => {
  await ways[request.url]?.(request);
  response.end('done');
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }));
process.on('message', (message) => {
  if (message !== 'stop') return;
  server.close();
  server.closeAllConnections();
  process.disconnect();
});
