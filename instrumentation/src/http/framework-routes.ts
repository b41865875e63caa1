import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { wrapMethod } from '../core/patch.ts';

const kRoute = Symbol('waitfall.route');
const kKoa = Symbol('waitfall.koa');

interface KoaContext {
  /** Set by `@koa/router` and `koa-router`: the pattern of the layer that matched last. */
  _matchedRoute?: unknown;
}

interface Marked extends IncomingMessage {
  [kRoute]?: string;
  [kKoa]?: KoaContext;
}

interface FastifyMessage {
  request?: { raw?: Marked };
  route?: { url?: unknown };
}

/** Notes the route of every request that Fastify hands to a handler; Fastify says it itself. */
export function noteFastifyRoutes(): void {
  subscribe('tracing:fastify.request.handler:start', (message) => {
    const { request, route } = message as FastifyMessage;
    if (request?.raw !== undefined && typeof route?.url === 'string') request.raw[kRoute] = route.url;
  });
}

/** Lets the context that Koa makes for a request be found from it: a router writes its route there. */
export function patchKoa(Koa: { prototype?: object }): void {
  wrapMethod(Koa.prototype, 'createContext', (inner) => {
    return function createContext(this: unknown, ...args: unknown[]): unknown {
      const made = inner().apply(this, args) as KoaContext;
      if (typeof args[0] === 'object' && args[0] !== null) (args[0] as Marked)[kKoa] = made;
      return made;
    };
  });
}

/** @returns the route of a request that Fastify or a router of Koa has answered, or undefined. */
export function frameworkRouteOf(request: IncomingMessage): string | undefined {
  const { [kRoute]: noted, [kKoa]: koa } = request as Marked;
  if (noted !== undefined) return noted;
  const matched = koa?._matchedRoute;
  return typeof matched === 'string' || matched instanceof RegExp ? String(matched) : undefined;
}
