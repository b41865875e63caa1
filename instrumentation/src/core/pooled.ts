import { type Context, createContextKey } from '@opentelemetry/api';
import { activeContext, runIn } from './active-context.ts';

const POOLED = createContextKey('waitfall pooled');

// biome-ignore lint/suspicious/noExplicitAny: any function can make something
type AnyFunction = (...args: any[]) => any;

/**
 * Calls what makes something for a pool, now or in later steps: that its caller waits for it is the pool's to say, and
 * not said once more by the connection that is made.
 */
export function makingForPool(make: AnyFunction, self: unknown, args: unknown[]): unknown {
  return runIn(activeContext().setValue(POOLED, true), make, self, args);
}

/** @returns whether what runs in this context makes something for a pool. */
export function isForPool(active: Context): boolean {
  return active.getValue(POOLED) === true;
}
