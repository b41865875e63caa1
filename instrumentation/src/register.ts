/**
 * Loaded with `node --import @waitfall/instrumentation/register` (or `--require`): instruments a service
 * without a line of code in it. Where an OpenTelemetry set-up exists already, it only adds instrumentation.
 */
import { trace } from '@opentelemetry/api';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { warnOnce } from './core/warn.ts';
import { WaitfallInstrumentation } from './instrumentation.ts';
import { isDisabled } from './register/disabled.ts';
import { registerEsmHooks } from './register/esm-hooks.ts';
import { warnOfForeignSetUp } from './register/give-way.ts';
import { hasTracerProvider, startSdk } from './register/sdk.ts';
import { checkLater } from './register/self-check.ts';
import { settingsOf } from './settings.ts';
import { needsSdk, startStandalone } from './standalone/start.ts';

const kRegistered = Symbol.for('waitfall.registered');

function register(): void {
  const once = globalThis as { [kRegistered]?: boolean };
  if (once[kRegistered] || !settingsOf({}).enabled || isDisabled('waitfall')) return;
  if (process.env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return;
  once[kRegistered] = true;
  try {
    registerEsmHooks();
  } catch (error) {
    warnOnce('esm-hooks', `imported ES modules cannot be patched, required ones can: ${reasonOf(error)}`);
  }
  const own = new WaitfallInstrumentation();
  if (hasTracerProvider()) {
    registerInstrumentations({ instrumentations: [own], tracerProvider: trace.getTracerProvider() });
    warnOfForeignSetUp();
  } else if (!(usesSdk() ? startSdk(own) : startStandalone(own))) {
    own.disable();
    return;
  }
  checkLater();
}

/** `WAITFALL_MODE`: `sdk`, `standalone`, or by default standalone unless another setting needs the SDK. */
function usesSdk(): boolean {
  const mode = process.env['WAITFALL_MODE'] || 'auto';
  if (mode === 'sdk') return true;
  const reason = needsSdk();
  if (reason !== undefined && mode === 'standalone') {
    warnOnce('mode', `${reason} needs the OpenTelemetry SDK: it is used instead of the standalone mode`);
  }
  return reason !== undefined;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

try {
  register();
} catch (error) {
  warnOnce('register', `not started, the service runs uninstrumented: ${reasonOf(error)}`);
}
