/** @returns whether `OTEL_NODE_DISABLED_INSTRUMENTATIONS` names an instrumentation (`http`, `pg`, `waitfall`, …). */
export function isDisabled(name: string, env: NodeJS.ProcessEnv = process.env): boolean {
  return (env['OTEL_NODE_DISABLED_INSTRUMENTATIONS'] ?? '')
    .split(',')
    .some((listed) => listed.trim() === name);
}
