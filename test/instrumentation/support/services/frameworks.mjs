// Servers that are no express application: Fastify with plugins, Koa with nested routers, HTTP/2 imported by name.

import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import Router from '@koa/router';
import { trace } from '@opentelemetry/api';
import fastifyFactory from 'fastify';
import Koa from 'koa';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const active = () => trace.getActiveSpan()?.spanContext().traceId ?? 'none';

const fastify = fastifyFactory();
const users = async (instance) => {
  instance.get('/users/:id', async () => {
    await sleep(1);
    return { traceId: active() };
  });
};
fastify.register(users);
fastify.register(users, { prefix: '/api' });
await fastify.listen({ port: 0, host: '127.0.0.1' });

const koa = new Koa();
const userRouter = new Router({ prefix: '/users' });
userRouter.get('/:id', async (ctx) => {
  await sleep(1);
  ctx.body = { traceId: active() };
});
const api = new Router({ prefix: '/api' });
api.use(userRouter.routes());
koa.use(userRouter.routes()).use(api.routes());
const koaServer = koa.listen(0, '127.0.0.1');

const http2 = createHttp2Server(async (request, response) => {
  if (request.url.startsWith('/slow')) await sleep(150);
  request.resume();
  request.on('end', () => response.end(active()));
});
http2.on('sessionError', () => {});
await new Promise((resolve) => http2.listen(0, '127.0.0.1', resolve));

const ports = {
  fastify: fastify.server.address().port,
  koa: koaServer.address().port,
  http2: http2.address().port,
};
const server = createServer((request, response) => {
  response.end(JSON.stringify(request.url === '/outside' ? { outside: globalThis.outside } : ports));
});
// Outside of every request there is no active context, also after requests have run.
setInterval(() => {
  globalThis.outside = trace.getActiveSpan() === undefined ? 'none' : 'some';
}, 20).unref();
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', () => process.exit(0));
