/**
 * The parts of an outgoing call against a name server and a remote server that go on when this test says so: each
 * recorded part lies between what the test did and saw on both sides of it, however busy the machine.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo, LookupFunction } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { Agent as Dispatcher, request as undiciRequest } from 'undici';
import { makeClientSpans } from '../../../instrumentation/src/parts.ts';
import { installed } from '../adapters/servers.ts';
import { assertBetween, moment } from '../support/moments.ts';
import { type Recorded, type Recording, request, startRecording } from '../support/recording.ts';

const openssl = installed('openssl');
let recording: Recording;

before(() => {
  recording = startRecording({ official: false });
  makeClientSpans({ http: true, undici: true });
});
after(() => recording.stop());
beforeEach(() => recording.clear());

const part = (span: Recorded, name: string) => (span.attributes[`waitfall.${name}_ns`] as number) / 1e6;
const settle = () => sleep(20);

/** A certificate for nobody, that only this test trusts. */
function newCertificate(): { key: Buffer; cert: Buffer } {
  const directory = mkdtempSync(join(tmpdir(), 'waitfall-certificate-'));
  const [key, cert] = ['key', 'cert'].map((name) => join(directory, name));
  const flags = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=price.test'];
  execFileSync(openssl as string, ['req', ...flags, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const made = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(directory, { recursive: true });
  return made;
}

/** What a TLS server and a name server did, and when, each 30 ms after it was asked. */
async function startSecure() {
  const certificate = newCertificate();
  const at = { lookupMs: 0, foundFromMs: 0, foundMs: 0, helloMs: 0, answeringMs: 0 };
  const server = https.createServer(
    {
      ...certificate,
      // The server has the client's first message, and does not answer it before this calls back.
      SNICallback: (_name, done) => {
        at.helloMs = moment();
        setTimeout(() => {
          at.answeringMs = moment();
          done(null, createSecureContext(certificate));
        }, 30);
      },
    },
    (_request, response) => response.end('42'),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const lookup: LookupFunction = (_name, _options, done) => {
    at.lookupMs = moment();
    setTimeout(() => {
      at.foundFromMs = moment();
      done(null, [{ address: '127.0.0.1', family: 4 }]);
      at.foundMs = moment();
    }, 30);
  };
  return { at, server, lookup, port: (server.address() as AddressInfo).port };
}

type Secure = Awaited<ReturnType<typeof startSecure>>;

const SECURE: Record<string, { resource: string; ask(secure: Secure): Promise<unknown> }> = {
  'https.get': {
    resource: 'http-agent',
    async ask({ port, lookup }) {
      const agent = new https.Agent({ rejectUnauthorized: false, lookup });
      const call = https.get(`https://price.test:${port}/`, { agent });
      const [response] = await once(call, 'response');
      await once(response.resume(), 'end');
      agent.destroy();
    },
  },
  undici: {
    resource: 'undici-pool',
    async ask({ port, lookup }) {
      const dispatcher = new Dispatcher({ connect: { rejectUnauthorized: false, lookup } });
      const { body } = await undiciRequest(`https://price.test:${port}/`, { dispatcher });
      await body.text();
      await dispatcher.close();
    },
  },
};

for (const [name, { resource, ask }] of Object.entries(SECURE)) {
  test(`name, TCP and TLS of a new connection of ${name}`, {
    skip: openssl === undefined && 'openssl is not installed here',
  }, async () => {
    const secure = await startSecure();
    const { at, server, port } = secure;
    const calledMs = moment();
    await request(() => ask(secure));
    const answeredMs = moment();
    await settle();
    server.closeAllConnections();
    server.close();
    const [wait] = recording.segment('connection_wait');
    assert.equal(wait.attributes['waitfall.resource'], `connect:${resource}:price.test:${port}`);
    const lookedUpMs = wait.startMs + part(wait, 'connect.dns');
    const tcpMs = lookedUpMs + part(wait, 'connect.tcp');
    const tlsMs = tcpMs + part(wait, 'connect.tls');
    // Node may ask for the name before it gives the socket to the call.
    assertBetween(wait.startMs, calledMs, at.foundFromMs, 'the connection begins');
    assertBetween(at.lookupMs, calledMs, at.foundFromMs, 'the name is asked for');
    assertBetween(lookedUpMs, at.foundFromMs, at.foundMs, 'the name is known');
    assertBetween(tcpMs, at.foundFromMs, at.helloMs, 'the connection is there before the server hears of it');
    assertBetween(tlsMs, at.answeringMs, answeredMs, 'it is encrypted');
    assertBetween(wait.endMs, tlsMs, answeredMs, 'that is the end of it');
  });
}

test('connections of undici that are opened at the same time are told apart', async () => {
  const server = http.createServer((_request, response) => response.end('42')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // The second has its name first.
  const delays = [60, 20];
  const foundMs: number[] = [];
  const lookup: LookupFunction = (_name, _options, done) => {
    const index = foundMs.push(0) - 1;
    setTimeout(() => {
      foundMs[index] = moment();
      done(null, [{ address: '127.0.0.1', family: 4 }]);
    }, delays[index]);
  };
  const dispatcher = new Dispatcher({ connect: { lookup }, connections: 2, pipelining: 1 });
  const ask = async () => {
    const { body } = await undiciRequest(`http://price.test:${port}/`, { dispatcher });
    await body.text();
  };
  await request(() => Promise.all([ask(), ask()]));
  await settle();
  await dispatcher.close();
  server.close();
  const ends = recording
    .segment('connection_wait')
    .map((wait) => wait.startMs + part(wait, 'connect.dns'))
    .sort((a, b) => a - b);
  const found = [...foundMs].sort((a, b) => a - b);
  assert.equal(ends.length, 2);
  for (const [index, endMs] of ends.entries())
    assertBetween(endMs, found[index], found[index + 1] ?? moment(), 'its own name is known');
});

test('a connection of undici that fails is not taken for one that is still being opened', async () => {
  const server = http.createServer((_request, response) => response.end('42')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // The first takes long for its name; the second is sent where nobody listens, and fails before.
  let calls = 0;
  let foundMs = 0;
  const lookup: LookupFunction = (_name, _options, done) => {
    if (calls++ > 0) return done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    setTimeout(() => {
      foundMs = moment();
      done(null, [{ address: '127.0.0.1', family: 4 }]);
    }, 60);
  };
  const dispatcher = new Dispatcher({ connect: { lookup }, connections: 2 });
  const ask = async () => {
    const { body } = await undiciRequest(`http://price.test:${port}/`, { dispatcher });
    await body.text();
  };
  await request(async () => {
    const first = ask();
    await assert.rejects(ask(), { code: 'ENOTFOUND' });
    await first;
  });
  await settle();
  await dispatcher.close();
  server.close();
  const waits = recording.segment('connection_wait');
  const acquired = waits.filter((wait) => wait.attributes['waitfall.outcome'] === 'acquired');
  assert.equal(acquired.length, 1);
  assertBetween(
    acquired[0].startMs + part(acquired[0], 'connect.dns'),
    foundMs,
    moment(),
    'its own name is known',
  );
});

/** Sends its headers and its body when it is told to. */
async function startSlow() {
  const at = { seenMs: 0, headersMs: 0, bodyMs: 0 };
  const server = http.createServer(async (_request, response) => {
    at.seenMs = moment();
    await sleep(30);
    at.headersMs = moment();
    response.flushHeaders();
    await sleep(30);
    at.bodyMs = moment();
    response.end('done');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { at, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

describe('the time to the first byte', () => {
  const CLIENTS: Record<string, (url: string, gotHeaders: () => void) => Promise<void>> = {
    'http.get': (url, gotHeaders) =>
      new Promise((resolve, reject) => {
        http
          .get(url, (response) => {
            gotHeaders();
            response.resume().once('end', resolve);
          })
          .once('error', reject);
      }),
    fetch: async (url, gotHeaders) => {
      const response = await fetch(url);
      gotHeaders();
      await response.text();
    },
    undici: async (url, gotHeaders) => {
      const dispatcher = new Dispatcher({ connections: 1 });
      const { body } = await undiciRequest(url, { dispatcher });
      gotHeaders();
      await body.text();
      await dispatcher.close();
    },
  };
  for (const [name, get] of Object.entries(CLIENTS)) {
    test(`of ${name} ends with the headers, not with the body`, async () => {
      const { at, server, url } = await startSlow();
      let [calledMs, headersMs, doneMs] = [0, 0, 0];
      await request(async () => {
        calledMs = moment();
        await get(url, () => {
          headersMs = moment();
        });
        doneMs = moment();
      });
      await settle();
      server.closeAllConnections();
      server.close();
      const [client] = recording.spans().filter((span) => span.kind === 2);
      const firstByteMs = part(client, 'http.first_byte');
      assertBetween(firstByteMs, at.headersMs - at.seenMs, headersMs - calledMs, 'the first byte');
      assertBetween(client.lengthMs, at.bodyMs - at.seenMs, doneMs + 20 - calledMs, 'all of it');
      assert.ok(client.lengthMs - firstByteMs >= at.bodyMs - headersMs, 'the rest is the body’s');
    });
  }
});
