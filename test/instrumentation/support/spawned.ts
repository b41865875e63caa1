import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const register = fileURLToPath(new URL('../../../instrumentation/src/register.ts', import.meta.url));
const services = new URL('./services/', import.meta.url);

/** A span as it stands in an export file. */
export interface ExportedSpan {
  scope: string;
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  flags: number;
  status: { code?: number; message?: string };
  /** Attribute values as written, without their type. */
  attributes: Record<string, unknown>;
  links?: { traceId: string; spanId: string }[];
}

export interface SpawnedService {
  readonly process: ChildProcess;
  readonly url: string;
  /** Its export file. */
  readonly file: string;
  readonly stderr: () => string;
  /** Asks the service to end by itself. @returns its exit code. */
  stop(): Promise<number | null>;
  /** @returns every span in its export file. */
  spans(): ExportedSpan[];
  lines(): string[];
}

const directories: string[] = [];
process.once('exit', () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** Starts one of the little services of this folder under `register`, exporting to a file. */
export async function spawnService(
  name: string,
  env: Record<string, string>,
  flag: '--import' | '--require' = '--import',
): Promise<SpawnedService> {
  const directory = await mkdtemp(join(tmpdir(), 'waitfall-spawned-'));
  directories.push(directory);
  const file = join(directory, 'traces.jsonl');
  const child = fork(fileURLToPath(new URL(name, services)), [], {
    execArgv: ['--conditions=waitfall-source', flag, register],
    env: { ...process.env, OTEL_SERVICE_NAME: 'shop', WAITFALL_TRACE_FILE: file, ...env },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = once(child, 'exit');
  const [message] = await Promise.race([once(child, 'message'), ended.then(() => [{ port: 0 }])]);
  if (message.port === 0) throw new Error(`${name} did not start: ${stderr}`);
  const lines = () => readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return {
    process: child,
    url: `http://127.0.0.1:${message.port}`,
    file,
    stderr: () => stderr,
    async stop() {
      child.send('stop');
      const [code] = await ended;
      return code as number | null;
    },
    spans: () => lines().flatMap((line) => spansOf(JSON.parse(line))),
    lines,
  };
}

interface OtlpRequest {
  resourceSpans: {
    scopeSpans: {
      scope: { name: string };
      spans: (Omit<ExportedSpan, 'attributes'> & { attributes: OtlpAttribute[] })[];
    }[];
  }[];
}

interface OtlpAttribute {
  key: string;
  value: Record<string, unknown>;
}

/** @returns the spans of one OTLP/JSON request. */
export function spansOf(request: OtlpRequest): ExportedSpan[] {
  return request.resourceSpans.flatMap((resource) =>
    resource.scopeSpans.flatMap(({ scope, spans }) =>
      spans.map((span) => ({
        ...span,
        scope: scope.name,
        attributes: Object.fromEntries(
          span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
        ),
      })),
    ),
  );
}
