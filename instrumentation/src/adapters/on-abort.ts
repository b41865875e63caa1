/** Callbacks by signal: many tasks may share one, and Node warns of a signal with more than ten listeners. */
const callbacks = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back when a signal aborts. @returns a function that takes the callback away. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  let waiting = callbacks.get(signal);
  if (waiting === undefined) {
    const all = new Set<() => void>();
    waiting = all;
    callbacks.set(signal, all);
    signal.addEventListener(
      'abort',
      () => {
        for (const call of [...all]) call();
        all.clear();
      },
      { once: true },
    );
  }
  waiting.add(callback);
  return () => void waiting.delete(callback);
}
