import { AsyncLocalStorage } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import { type Context, type ContextManager, ROOT_CONTEXT } from '@opentelemetry/api';
import type { ContextRunner } from '../core/active-context.ts';

/** OpenTelemetry's active context on AsyncLocalStorage; only ever entered for the length of a call. */
export class AsyncContextManager implements ContextManager, ContextRunner {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  run(context: Context, fn: (...args: never[]) => unknown, self: unknown, args: unknown[]): unknown {
    return this.#storage.run(context, Reflect.apply, fn, self, args);
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: Context,
    fn: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(context, Reflect.apply, fn, thisArg, args) as ReturnType<F>;
  }

  bind<T>(context: Context, target: T): T {
    if (typeof target === 'function')
      return this.#bindFunction(context, target as (...args: unknown[]) => unknown) as T;
    const emitter = target as EventEmitter | null;
    if (typeof emitter?.emit !== 'function') return target;
    const emit = emitter.emit;
    const run = this.#storage;
    emitter.emit = function (this: EventEmitter, ...args: Parameters<EventEmitter['emit']>): boolean {
      return run.run(context, () => emit.apply(this, args));
    };
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.#storage.disable();
    return this;
  }

  #bindFunction(context: Context, target: (...args: unknown[]) => unknown): (...args: unknown[]) => unknown {
    const storage = this.#storage;
    const bound = function (this: unknown, ...args: unknown[]): unknown {
      return storage.run(context, () => target.apply(this, args));
    };
    Object.defineProperty(bound, 'length', { value: target.length, configurable: true });
    return bound;
  }
}
