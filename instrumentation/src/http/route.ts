import type { IncomingMessage } from 'node:http';
import { wrapMethod } from '../core/patch.ts';
import { frameworkRouteOf } from './framework-routes.ts';

const kMounts = Symbol('waitfall.mounts');
const kRouter = Symbol('waitfall.router');
const MAX_DEPTH = 8;

type Path = string | RegExp | readonly (string | RegExp)[];

interface Router extends App {
  stack?: { handle?: Router }[];
  /** Where the router is mounted: the outer router and the path it was given there. */
  [kMounts]?: { outer: Router; path: Path }[];
}

/** An application is mounted too, by another application or by a router. */
interface App {
  parent?: App;
  mountpath?: Path;
  set?: unknown;
  [kMounts]?: Router[typeof kMounts];
}

interface Route {
  path?: Path;
  [kRouter]?: Router;
}

/**
 * Remembers, when an express application registers its routers, under which patterns it mounts them. Nothing
 * runs per request: `req.baseUrl` holds actual values (`/org/42`), the pattern (`/org/:id`) is looked up.
 */
export function patchExpressRouter(express: { Router?: { prototype?: object } }): void {
  const Router = express.Router as
    | (Record<string, unknown> & { prototype?: Record<string, unknown> })
    | undefined;
  // Express 5 keeps the methods on the prototype, express 4 on the function itself.
  const holder = typeof Router?.prototype?.['use'] === 'function' ? Router.prototype : Router;
  wrapMethod(holder, 'use', (inner) => {
    return function use(this: Router, ...args: unknown[]): unknown {
      const before = this.stack?.length ?? 0;
      const result = inner().apply(this, args);
      for (const layer of this.stack?.slice(before) ?? []) {
        const mounted = layer.handle;
        if (mounted?.stack !== undefined || typeof mounted?.set === 'function')
          (mounted[kMounts] ??= []).push({ outer: this, path: mountPath(args[0]) });
      }
      return result;
    };
  });
  wrapMethod(holder, 'route', (inner) => {
    return function route(this: Router, ...args: unknown[]): unknown {
      const made = inner().apply(this, args) as Route;
      made[kRouter] = this;
      return made;
    };
  });
}

function mountPath(first: unknown): Path {
  if (typeof first === 'string' || first instanceof RegExp) return first;
  const list = Array.isArray(first) ? first.flat(Number.POSITIVE_INFINITY) : [];
  return typeof list[0] === 'string' || list[0] instanceof RegExp ? list : '/';
}

const patterns = new WeakMap<Route, string[]>();

/** @returns the pattern of the route that answered, of low cardinality; undefined where none did. */
export function routeOf(request: IncomingMessage): string | undefined {
  const { route, baseUrl, app } = request as { route?: Route; baseUrl?: string; app?: App };
  if (route === undefined || route === null || route.path === undefined) return frameworkRouteOf(request);
  const own = typeof route.path === 'string' ? route.path : String(route.path);
  const base = baseUrl ? mountPattern(route, baseUrl, app) : '';
  if (base === '') return own;
  return own === '/' ? base : base + own;
}

function mountPattern(route: Route, baseUrl: string, app: App | undefined): string {
  let known = patterns.get(route);
  if (known === undefined) {
    known = route[kRouter] === undefined ? [] : mountsOf(route[kRouter], app, 0);
    patterns.set(route, known);
  }
  if (known.length === 1) return known[0];
  const segments = baseUrl.split('/');
  return known.find((pattern) => fits(pattern.split('/'), segments)) ?? baseUrl;
}

function mountsOf(router: Router, app: App | undefined, depth: number): string[] {
  if (depth > MAX_DEPTH) return [''];
  const mounts = router[kMounts];
  if (mounts !== undefined)
    return mounts.flatMap(({ outer, path }) => under(mountsOf(outer, app, depth + 1), path));
  // The application's own router: what the application itself is mounted under comes before it.
  if (app?.parent !== undefined && app.mountpath !== undefined)
    return under(mountsOf({}, app.parent, depth + 1), app.mountpath);
  return app?.[kMounts] === undefined ? [''] : mountsOf(app, undefined, depth + 1);
}

function under(bases: readonly string[], path: Path): string[] {
  return bases.flatMap((base) =>
    [path].flat().map((part) => (part === '/' ? base : `${base}${String(part)}`)),
  );
}

/** Segments with a parameter, a wildcard or an option fit anything. */
function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, at) => /[:*{(]/.test(part) || part === segments[at])
  );
}
