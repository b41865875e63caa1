import { type Context, context } from '@opentelemetry/api';

// biome-ignore lint/suspicious/noExplicitAny: any function can run in a context
type AnyFunction = (...args: any[]) => any;

/** What keeps the active context. */
export interface ContextRunner {
  active(): Context;
  run(active: Context, fn: AnyFunction, self: unknown, args: unknown[]): unknown;
}

const VIA_API: ContextRunner = {
  active: () => context.active(),
  // With a `this` of its own the API's would bind the function first.
  run: (active, fn, self, args) => context.with(active, () => fn.apply(self, args)),
};

/** The API looks up its context manager in every call; where it is ours, that can be left out. */
let runner = VIA_API;

/** To be called with the context manager that was registered with the API; undefined once it is somebody else's. */
export function setContextRunner(next: ContextRunner | undefined): void {
  runner = next ?? VIA_API;
}

/** @returns the active context, as `context.active()` does. */
export function activeContext(): Context {
  return runner.active();
}

/** Calls a function with a context active, as `context.with` does. */
export function runIn(active: Context, fn: AnyFunction, self: unknown, args: unknown[]): unknown {
  return runner.run(active, fn, self, args);
}
