// Answers after the time that is asked for, which is a wait for a resource of its own.
import { open } from 'node:fs';
import { createServer } from 'node:http';
import { dumpRecorder, withWait } from '@waitfall/instrumentation';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Burns CPU under a name that can be looked for. */
function burnHere(ms) {
  const until = performance.now() + ms;
  let sum = 0;
  while (performance.now() < until) sum += Math.sqrt(sum + 1);
  return sum;
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://service');
  const ms = Number(url.searchParams.get('ms') ?? 5);
  if (url.pathname === '/burn') burnHere(ms);
  // Opening a named pipe keeps a thread until somebody opens its other end.
  else if (url.pathname === '/occupy') open(url.searchParams.get('path'), 'r', () => {});
  else if (url.pathname === '/kill') return setTimeout(() => process.kill(process.pid, 'SIGKILL'), ms);
  else if (url.pathname === '/dump') response.setHeader('x-file', (await dumpRecorder()) ?? 'none');
  else await withWait('printer', () => sleep(ms), { capacity: 1 });
  response.end('done');
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }));
process.on('message', (message) => {
  if (message !== 'stop') return;
  server.close();
  server.closeAllConnections();
  process.disconnect();
});
