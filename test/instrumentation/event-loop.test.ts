import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { type Recording, startRecording } from './support/recording.ts';

let recording: Recording;

before(() => {
  recording = startRecording({ official: false, http: true });
});
after(() => recording.stop());

function busy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('an idle loop is neither woken nor kept alive', () => {
  const clock = new URL('../../instrumentation/src/core/loop-clock.ts', import.meta.url);
  const script = `
    import { loopClock } from '${clock}';
    loopClock.start();
    setTimeout(() => console.log(loopClock.iteration), 300);`;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  assert.equal(child.status, 0, child.stderr);
  assert.ok(Number(child.stdout) < 20, `${child.stdout} iterations in 300 ms`);
});

test('requests that arrive together: the second waits for the first, and its span begins when it came', async () => {
  const server = createServer((_req: IncomingMessage, res: ServerResponse) => {
    busy(40);
    res.end('done');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  for (let i = 0; i < 3; i++) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    sockets.push(socket);
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
  recording.clear();
  const answered = sockets.map((socket) => once(socket, 'data'));
  for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await Promise.all(answered);
  for (const socket of sockets) socket.destroy();
  server.close();
  const roots = recording.spans().filter((span) => span.name === 'GET');
  const waits = recording.segment('eventloop_wait');
  const work = recording.segment('work');
  assert.equal(roots.length, 3);
  // Whichever came in one poll with another waited for that one's 40 ms.
  for (const wait of waits) {
    const root = roots.find((span) => span.spanId === wait.parentId);
    assert.ok(root);
    assert.equal(root.attributes['waitfall.server.received_unix_nano'] !== undefined, true);
    assert.ok(Math.abs(root.startMs - wait.startMs) < 0.001, 'the request begins with its wait');
    assert.ok(root.lengthMs >= wait.lengthMs + 39, 'the end was not moved with the start');
    const min = (wait.attributes['waitfall.estimate.min_ns'] as number) / 1e6;
    const max = (wait.attributes['waitfall.estimate.max_ns'] as number) / 1e6;
    assert.ok(min <= max + 0.001);
  }
  assert.ok(
    waits.some((wait) => wait.lengthMs >= 35),
    'one waited for another',
  );
  const proven = roots.filter((root) => {
    const slices = work.filter((slice) => slice.traceId === root.traceId);
    return slices.reduce((sum, slice) => sum + slice.lengthMs, 0) >= 39;
  });
  // An answer that the kernel takes only in a later iteration ends its request there: then nothing is proven.
  assert.ok(proven.length >= 2, `the own work of ${proven.length} of 3 is proven`);
});
