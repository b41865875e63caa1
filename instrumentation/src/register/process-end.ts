const ASYNC_LIMIT_MS = 3_000;
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** What must still be written when the process ends. */
export interface EndOfProcess {
  /** Runs where nothing asynchronous does any more. */
  flushSync(): void;
  /** Runs where the process can still wait for it. */
  flush(): Promise<unknown>;
  /** Whether {@link flush} sends something that {@link flushSync} cannot. */
  readonly needsAsync: boolean;
}

/**
 * Writes what is left when the process ends, by itself, by `process.exit()` or by SIGTERM / SIGINT. Where
 * the service has signal handlers of its own they decide when it ends; where it has none, the signal still
 * ends it, with the same exit status as without us.
 */
export function flushAtEnd(end: EndOfProcess): void {
  process.on('exit', () => end.flushSync());
  process.once('beforeExit', () => {
    if (!end.needsAsync) return;
    // Holds the process until everything is sent, but not for long.
    const hold = setTimeout(() => {}, ASYNC_LIMIT_MS);
    const done = () => clearTimeout(hold);
    end.flush().then(done, done);
  });
  for (const signal of SIGNALS) {
    const onSignal = () => {
      // Counted now: a handler set with once() is gone by the time the flush has ended.
      const serviceDecides = process.listenerCount(signal) > 1;
      end.flushSync();
      const finish = () => {
        if (serviceDecides) return;
        process.removeListener(signal, onSignal);
        process.kill(process.pid, signal);
      };
      if (!end.needsAsync) {
        finish();
        return;
      }
      const giveUp = new Promise((resolve) => setTimeout(resolve, ASYNC_LIMIT_MS).unref());
      void Promise.race([end.flush().catch(() => {}), giveUp]).then(finish);
    };
    process.on(signal, onSignal);
  }
}
