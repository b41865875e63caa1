const flushes = new Set<() => void>();

/** Runs `flush` when a span processor of ours shuts down: what is still held or waited for becomes spans. */
export function onShutdown(flush: () => void): void {
  flushes.add(flush);
}

export function flushBeforeShutdown(): void {
  for (const flush of flushes) flush();
}
