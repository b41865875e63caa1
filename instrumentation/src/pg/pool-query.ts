/** The pool's own `query`, in a stretch of code that runs without a break. */
let isDispatching = false;

/**
 * Whether the statement that is sent next is that of a `pool.query` which returns a promise: its callback is the pool's,
 * and nothing of the service's runs in it.
 */
export function setDispatching(on: boolean): void {
  isDispatching = on;
}

/** @returns whether the statement sent now is the pool's own; the next one is not. */
export function takeDispatching(): boolean {
  const was = isDispatching;
  isDispatching = false;
  return was;
}
