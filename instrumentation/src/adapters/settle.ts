/**
 * @returns a promise in the place of the library's, of its own kind, after `got` or `failed` has seen how it
 * ended. Handlers beside it would hide an unhandled rejection from the service.
 */
export function settling<T>(
  promise: PromiseLike<T>,
  got: (value: T) => void,
  failed: (error: unknown) => void,
): PromiseLike<T> {
  return promise.then(
    (value) => {
      quietly(() => got(value));
      return value;
    },
    (error: unknown) => {
      quietly(() => failed(error));
      throw error;
    },
  );
}

/**
 * Looks at a promise whose rejection the library has handled itself already.
 *
 * @returns the same promise: one of ours in its place would make a rejection unhandled that was not.
 */
export function watching<T>(
  promise: PromiseLike<T>,
  got: (value: T) => void,
  failed: (error: unknown) => void,
): PromiseLike<T> {
  promise.then(
    (value) => quietly(() => got(value)),
    (error: unknown) => quietly(() => failed(error)),
  );
  return promise;
}

/** Runs something of ours: what goes wrong in it must never reach the service. */
export function quietly<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
