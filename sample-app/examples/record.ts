import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Database } from '../src/postgres/database.ts';
import type { Children } from '../src/run/children.ts';
import { registerModule } from '../src/run/register-module.ts';
import { UNRECORDED } from '../src/run/unrecorded.ts';
import type { Example } from './examples.ts';

/** The other service takes this long for each of its answers. */
const REMOTE_MS = 40;
const WARM_UPS = 2;

/**
 * Runs an example as a process of its own, instrumented from outside, sends its requests all at once, and lets
 * it end.
 *
 * @param traceFile where its spans go.
 * @param database where it needs one.
 */
export async function recordExample(
  children: Children,
  example: Example,
  traceFile: string,
  database?: Database,
): Promise<void> {
  const remote = example.needs === 'remote' ? await startRemote() : undefined;
  try {
    const { child, ready } = await children.start<{ port: number }>(
      example.name,
      new URL(`${example.name}.mjs`, import.meta.url),
      {
        nodeOptions: ['--import', registerModule()],
        env: {
          OTEL_SERVICE_NAME: 'example',
          WAITFALL_TRACE_FILE: traceFile,
          ...(database && { DATABASE_URL: await database.createSchema(example.name.replaceAll('-', '_')) }),
          ...(remote && { REMOTE_URL: remote.url }),
          ...example.env,
        },
      },
    );
    const url = `http://127.0.0.1:${ready.port}/`;
    const ask = async (headers: Record<string, string> = {}) =>
      (await fetch(url, { headers: { ...example.headers?.(), ...headers } })).arrayBuffer();
    const together = (headers?: Record<string, string>) =>
      Promise.all(Array.from({ length: example.requests }, () => ask(headers)));
    // What happens only once, such as compiling and connecting, is not what the example shows.
    for (let i = 0; i < WARM_UPS; i++) await together({ traceparent: UNRECORDED });
    await together();
    const ended = once(child, 'exit');
    child.send('end');
    await ended;
  } finally {
    remote?.close();
  }
}

async function startRemote(): Promise<{ url: string; close: () => void }> {
  const server = createServer((_request, response) => {
    setTimeout(() => response.end('12.50'), REMOTE_MS);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
