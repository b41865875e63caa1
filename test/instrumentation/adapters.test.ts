import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { fastifyAdmission, koaAdmission } from '@waitfall/instrumentation';
import { type Recording, startRecording } from './support/recording.ts';

const require = createRequire(import.meta.url);
let recording: Recording;

before(() => {
  recording = startRecording({ official: false });
});
after(() => recording.stop());
beforeEach(() => recording.clear());

interface Running {
  readonly url: string;
  readonly stats: () => { active: number; executed: number; rejected: number; waiting: number };
  stop(): Promise<unknown>;
}

const FRAMEWORKS: Record<string, () => Promise<Running>> = {
  koa: async () => {
    const Koa = require('koa');
    const app = new Koa();
    const gate = koaAdmission({ maxConcurrent: 1, maxQueue: 1 });
    app.use(gate);
    app.use(async (ctx: { body: unknown }) => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      ctx.body = { ok: true };
    });
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}/`,
      stats: gate.stats,
      stop: () => new Promise((resolve) => server.close(resolve)),
    };
  },
  fastify: async () => {
    const app = require('fastify')();
    const gate = fastifyAdmission({ maxConcurrent: 1, maxQueue: 1 });
    app.addHook('onRequest', gate);
    app.get('/', async () => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      return { ok: true };
    });
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    return { url, stats: gate.stats, stop: () => app.close() };
  },
};

for (const [name, start] of Object.entries(FRAMEWORKS)) {
  test(`${name}: one works, one waits, the third gets a 503 with its reason`, async () => {
    const running = await start();
    const answers = await Promise.all([1, 2, 3].map(() => fetch(running.url)));
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 200, 503]);
    for (const answer of answers) {
      const body = (await answer.json()) as { ok?: boolean; reason?: string };
      if (answer.status === 200) assert.equal(body.ok, true);
      else assert.equal(body.reason, 'queue full');
      assert.equal(answer.headers.has('server-timing'), answer.status === 200);
    }
    await running.stop();
    const { active, executed, rejected, waiting } = running.stats();
    assert.deepEqual(
      { active, executed, rejected, waiting },
      { active: 0, executed: 2, rejected: 1, waiting: 0 },
    );
  });
}
