const flushes = new Set<() => void>();

/** Runs `flush` when a span processor of ours shuts down: what is still held or waited for becomes spans. */
export function onShutdown(flush: () => void): void {
  flushes.add(flush);
}

const finalFlushes = new Set<() => void>();

/**
 * Runs `flush` whenever what has been recorded is written out for the last time, or might be: at a shutdown and
 * when a signal or the end of the process is near. Nothing may be closed in it that goes on after a signal.
 */
export function onFlush(flush: () => void): void {
  finalFlushes.add(flush);
}

export function flushRecorded(): void {
  for (const flush of finalFlushes) flush();
}

export function flushBeforeShutdown(): void {
  for (const flush of flushes) flush();
  flushRecorded();
}
