import { diag } from '@opentelemetry/api';

const said = new Set<string>();

/** Says what somebody asked for, to stderr. Never throws. */
export function say(message: string): void {
  try {
    process.stderr.write(`waitfall: ${message}\n`);
  } catch {
    // As below.
  }
}

/** Says something once per process: to stderr and to OpenTelemetry's diagnostics. Never throws. */
export function warnOnce(code: string, message: string): void {
  if (said.has(code)) return;
  said.add(code);
  try {
    diag.warn(`waitfall: ${message}`);
    process.stderr.write(`waitfall: ${message}\n`);
  } catch {
    // A closed stderr is no reason to disturb the service.
  }
}
