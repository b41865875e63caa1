// A service with a queue of its own: two printers, six requests at once. Ends by itself.
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { withHold } from '@waitfall/instrumentation';

let free = 2;
const waiting = [];
const take = () => (free > 0 ? void free-- : new Promise((resolve) => waiting.push(resolve)));
const give = () => (waiting.length > 0 ? waiting.shift()() : void free++);

const server = http.createServer(async (_request, response) => {
  await withHold('printer', () => sleep(30), { acquire: take, release: give, capacity: 2 });
  response.end('printed');
});
server.listen(0, '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}/labels`;
  await Promise.all(Array.from({ length: 6 }, () => fetch(url).then((response) => response.text())));
  server.close();
  server.closeAllConnections();
});
