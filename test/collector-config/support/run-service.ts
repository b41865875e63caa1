import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

export interface RunningService {
  /** Requests one after another, `parallel` at a time. @returns the status of each answer. */
  request(count: number): Promise<number[]>;
  log(): string;
  /** Ends it in order. @returns its exit code. */
  stop(): Promise<number | null>;
  kill(): void;
}

/** Starts the small service with the instrumentation's `register`, exporting to a collector and to a file of its own. */
export async function startService(otlpEndpoint: string, traceFile: string): Promise<RunningService> {
  const child = spawn(
    process.execPath,
    [
      '--conditions=waitfall-source',
      '--import',
      './instrumentation/src/register.ts',
      './test/collector-config/support/service.ts',
    ],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        OTEL_SERVICE_NAME: 'small',
        OTEL_EXPORTER_OTLP_ENDPOINT: otlpEndpoint,
        // Without the host detector, whose host.id may come after so short a service has ended.
        OTEL_NODE_RESOURCE_DETECTORS: 'env,process,serviceinstance',
        OTEL_BSP_SCHEDULE_DELAY: '200',
        OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
        WAITFALL_TRACE_FILE: traceFile,
      },
    },
  );
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = once(child, 'exit');
  const [port] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    ended.then(() => {
      throw new Error(`the service did not start:\n${log}`);
    }),
  ]);
  return {
    async request(count) {
      const statuses: number[] = [];
      for (let i = 0; i < count; i += 10) {
        const answers = await Promise.all(
          Array.from({ length: Math.min(10, count - i) }, () => fetch(`http://127.0.0.1:${port}/`)),
        );
        for (const answer of answers) {
          await answer.text();
          statuses.push(answer.status);
        }
      }
      return statuses;
    },
    log: () => log,
    async stop() {
      child.kill('SIGTERM');
      await ended;
      return child.exitCode;
    },
    kill: () => void child.kill('SIGKILL'),
  };
}
