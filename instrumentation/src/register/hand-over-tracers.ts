import type { Context, Span, SpanOptions, Tracer, TracerProvider } from '@opentelemetry/api';

type TracerArguments = Parameters<TracerProvider['getTracer']>;

/**
 * Lets the tracers that a provider makes from now on be served by another provider later: instrumentations ask for theirs
 * before their own set-up has registered anything, and keep them.
 *
 * @returns to be called with the other provider.
 */
export function handOverTracers(provider: TracerProvider): (successor: TracerProvider) => void {
  let current = provider.getTracer.bind(provider);
  let handOvers = 0;
  provider.getTracer = (...args: TracerArguments) => {
    let known = handOvers;
    let tracer = current(...args);
    return new ServedTracer(() => {
      if (known !== handOvers) {
        known = handOvers;
        tracer = current(...args);
      }
      return tracer;
    });
  };
  return (successor) => {
    current = successor.getTracer.bind(successor);
    handOvers++;
  };
}

class ServedTracer implements Tracer {
  readonly #current: () => Tracer;

  constructor(current: () => Tracer) {
    this.#current = current;
  }

  startSpan(name: string, options?: SpanOptions, context?: Context): Span {
    return this.#current().startSpan(name, options, context);
  }

  // biome-ignore lint/suspicious/noExplicitAny: the API declares four overloads
  startActiveSpan(...args: any[]): any {
    const tracer = this.#current() as { startActiveSpan(...all: unknown[]): unknown };
    return tracer.startActiveSpan(...args);
  }
}
