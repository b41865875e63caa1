/** What can be configured of the parts beside pools and locks. */
export interface PartsConfig {
  /** Outgoing requests of `http`, `https`, `undici` and `fetch`: waits for sockets and connections. `WAITFALL_OUTBOUND`, default true. */
  outbound?: boolean;
  /** Pauses for garbage collection, and for a CPU quota that is used up. `WAITFALL_PAUSES`, default true. */
  pauses?: boolean;
  /**
   * Waits of `fs`, `zlib`, `crypto` and `dns.lookup` for a thread of libuv. Wraps functions of Node itself, so
   * only where it is asked for. `WAITFALL_THREAD_POOL`, default false.
   */
  threadPool?: boolean;
  /** Metrics through the MeterProvider that is registered; nothing without one. `WAITFALL_METRICS`, default true. */
  metrics?: boolean;
  /** Sample the CPU and name the widest functions on `work` spans. `WAITFALL_CPU_PROFILE`, default false. */
  cpuProfile?: boolean;
  /**
   * Keep what was not sampled in the last seconds, to write it when something is wrong. `WAITFALL_RECORDER=60s`,
   * default off.
   */
  recorder?: RecorderConfig;
}

export interface RecorderConfig {
  /** How far back it goes, ms. */
  windowMs: number;
  /** Bound of what is kept, bytes, estimated. `WAITFALL_RECORDER_BYTES=64MB`, default 64 MB. */
  maxBytes?: number;
  /** Write when more than 1 % of the requests of 10 s take longer, ms. `WAITFALL_RECORDER_P99=250ms`, default never. */
  p99Ms?: number;
  /** Where files are written. `WAITFALL_RECORDER_DIR`, default the working directory. */
  directory?: string;
}

/** The same with every default filled in. */
export interface PartSettings {
  outbound: boolean;
  pauses: boolean;
  threadPool: boolean;
  metrics: boolean;
  cpuProfile: boolean;
  recorder: RecorderConfig | undefined;
}

type Env = NodeJS.ProcessEnv;

export function partSettingsOf(config: PartsConfig, env: Env, flag: Flag): PartSettings {
  return {
    outbound: config.outbound ?? flag(env, 'WAITFALL_OUTBOUND', true),
    pauses: config.pauses ?? flag(env, 'WAITFALL_PAUSES', true),
    threadPool: config.threadPool ?? flag(env, 'WAITFALL_THREAD_POOL', false),
    metrics: config.metrics ?? flag(env, 'WAITFALL_METRICS', true),
    cpuProfile: config.cpuProfile ?? flag(env, 'WAITFALL_CPU_PROFILE', false),
    recorder: config.recorder ?? recorderFromEnv(env),
  };
}

type Flag = (env: Env, name: string, otherwise: boolean) => boolean;

/** @returns what `WAITFALL_RECORDER` and its like ask for; undefined where no recorder is to run. */
export function recorderFromEnv(env: Env): RecorderConfig | undefined {
  const windowMs = durationMs(env['WAITFALL_RECORDER']);
  if (windowMs === undefined || windowMs <= 0) return undefined;
  return {
    windowMs,
    maxBytes: bytes(env['WAITFALL_RECORDER_BYTES']),
    p99Ms: durationMs(env['WAITFALL_RECORDER_P99']),
    directory: env['WAITFALL_RECORDER_DIR'] || undefined,
  };
}

const MS: Readonly<Record<string, number>> = { ms: 1, s: 1e3, m: 6e4 };
const BYTES: Readonly<Record<string, number>> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 };

/** @returns `60s`, `250ms`, `2m` or a number of seconds in ms; undefined for anything else. */
export function durationMs(text: string | undefined): number | undefined {
  return scaled(text, MS, 1e3);
}

function bytes(text: string | undefined): number | undefined {
  return scaled(text, BYTES, 1);
}

function scaled(
  text: string | undefined,
  units: Readonly<Record<string, number>>,
  withoutUnit: number,
): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text?.trim() ?? '');
  if (match === null) return undefined;
  const factor = match[2] === '' ? withoutUnit : units[match[2].toLowerCase()];
  return factor === undefined ? undefined : Number(match[1]) * factor;
}
