import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AdmissionOptions, admission } from './admission.ts';
import type { SlotStats } from './slots.ts';

/** What is used of a Koa context. */
export interface KoaContextLike {
  req: IncomingMessage;
  res: ServerResponse;
  /** Set when the answer was written past Koa. */
  respond?: boolean;
}

/** {@link admission} as Koa middleware: `app.use(koaAdmission({ … }))`. */
export function koaAdmission(
  options: AdmissionOptions,
): ((ctx: KoaContextLike, next: () => Promise<unknown>) => Promise<unknown>) & { stats(): SlotStats } {
  const gate = admission(options);
  const middleware = (ctx: KoaContextLike, next: () => Promise<unknown>): Promise<unknown> =>
    new Promise((resolve, reject) => {
      let admitted = false;
      // A refused request is answered by the gate; Koa must not answer it again.
      ctx.res.once('close', () => {
        if (!admitted) resolve(undefined);
      });
      const respond = ctx.respond;
      ctx.respond = false;
      gate(ctx.req, ctx.res, () => {
        admitted = true;
        if (respond === undefined) delete ctx.respond;
        else ctx.respond = respond;
        next().then(resolve, reject);
      });
    });
  return Object.assign(middleware, { stats: gate.stats });
}

/** What is used of a Fastify request and reply. */
export interface FastifyPartLike<T> {
  raw: T;
  /** Fastify's way to say that the answer was written past it. */
  hijack?(): unknown;
}

/** {@link admission} as a Fastify hook: `app.addHook('onRequest', fastifyAdmission({ … }))`. */
export function fastifyAdmission(
  options: AdmissionOptions,
): ((
  request: FastifyPartLike<IncomingMessage>,
  reply: FastifyPartLike<ServerResponse>,
  done: () => void,
) => void) & { stats(): SlotStats } {
  const gate = admission(options);
  const hook = (
    request: FastifyPartLike<IncomingMessage>,
    reply: FastifyPartLike<ServerResponse>,
    done: () => void,
  ): void => {
    let admitted = false;
    reply.raw.once('close', () => {
      if (!admitted) reply.hijack?.();
    });
    gate(request.raw, reply.raw, () => {
      admitted = true;
      done();
    });
  };
  return Object.assign(hook, { stats: gate.stats });
}
