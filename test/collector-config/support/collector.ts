import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { collectorBinary } from './binary.ts';
import { configPath } from './configs.ts';

export interface CollectorOptions {
  /** File name in collector-config/. */
  readonly config: string;
  /** Settings of that file; nothing else of this process's environment is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** Settings laid over the file, in the form `exporters::file/traces::format: proto`. */
  readonly overrides?: readonly string[];
  readonly args?: readonly string[];
  /** Port of OTLP over gRPC, where another process already knows it; a free one by default. */
  readonly grpcPort?: number;
}

export interface RunningCollector {
  readonly otlpHttp: string;
  readonly grpcPort: number;
  readonly log: () => string;
  /** The collector's own counters, summed over their labels. */
  counter(name: string): Promise<number>;
  /** Ends it in order: open batches are written. */
  stop(): Promise<void>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
}

/** Overrides: less memory than the process needs for itself, so that the limiter refuses everything after its first check. */
export const NO_MEMORY: readonly string[] = [
  'processors::memory_limiter::limit_mib: 6',
  'processors::memory_limiter::spike_limit_mib: 3',
];

/** No collector outlives the tests, whatever ends them. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a collector on free loopback ports and waits until it takes data. */
export async function startCollector(options: CollectorOptions): Promise<RunningCollector> {
  const [free, http, telemetry, health] = await freePorts(4);
  const grpc = options.grpcPort ?? free;
  const child = spawn(
    collectorBinary!,
    [
      `--config=${configPath(options.config)}`,
      ...(options.overrides ?? []).map((setting) => `--config=yaml:${setting}`),
      ...(options.args ?? []),
    ],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        GOMAXPROCS: '2',
        WAITFALL_OTLP_GRPC_PORT: String(grpc),
        WAITFALL_OTLP_HTTP_PORT: String(http),
        WAITFALL_TELEMETRY_PORT: String(telemetry),
        WAITFALL_HEALTH_PORT: String(health),
        ...options.env,
      },
    },
  );
  let log = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  for (let tries = 0; !log.includes('Everything is ready'); tries++) {
    if (child.exitCode !== null) throw new Error(`${options.config}: the collector ended:\n${log}`);
    if (tries > 600) {
      child.kill('SIGKILL');
      throw new Error(`${options.config}: the collector was not ready after 60 s:\n${log}`);
    }
    await sleep(100);
  }
  return {
    otlpHttp: `http://127.0.0.1:${http}`,
    grpcPort: grpc,
    log: () => log,
    counter: (name) => readCounter(telemetry, name),
    stop: () => end(child, 'SIGTERM'),
    kill: () => end(child, 'SIGKILL'),
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

async function readCounter(port: number, name: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  let sum = 0;
  for (const line of (await response.text()).split('\n')) {
    const match = /^(\w+?)(?:_total)?(?:\{.*\})? (\S+)$/.exec(line);
    if (match?.[1] === name) sum += Number(match[2]);
  }
  return sum;
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/** Waits until `ready` says so, looking every 100 ms; fails with `what` after a minute. */
export async function until(what: string, ready: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await ready()) return;
    await sleep(100);
  }
  throw new Error(`not within a minute: ${what}`);
}
