import type { ChildProcess } from 'node:child_process';
import type { LinkReady } from '../link/main.ts';
import type { Children } from '../run/children.ts';
import { registerModule } from '../run/register-module.ts';
import type { ServiceReady } from '../service/main.ts';
import type { ServiceConfig, Variant } from '../service/variants.ts';

/** Bandwidth of each connection between service and database, in each direction. */
export const LINK_MBIT_PER_SECOND = 20;

/** The link in front of the database. @returns its process and the URL of the database behind it. */
export async function startLink(
  children: Children,
  databaseUrl: string,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const url = new URL(databaseUrl);
  const { child, ready } = await children.start<LinkReady>(
    'link',
    new URL('../link/main.ts', import.meta.url),
    {
      args: [url.hostname, url.port || '5432', String(LINK_MBIT_PER_SECOND)],
    },
  );
  url.hostname = '127.0.0.1';
  url.port = String(ready.port);
  return { child, url: url.href };
}

/** The service, instrumented from outside; its spans go to `traceFile`. `config` replaces values of the variant. */
export async function startService(
  children: Children,
  variant: string,
  databaseUrl: string,
  traceFile: string,
  config: Partial<ServiceConfig> = {},
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const { child, ready } = await children.start<ServiceReady>(
    'service',
    new URL('../service/main.ts', import.meta.url),
    {
      nodeOptions: ['--import', registerModule()],
      env: {
        DATABASE_URL: databaseUrl,
        PORT: '0',
        SIGNUP_VARIANT: variant,
        SIGNUP_CONFIG: JSON.stringify(config),
        OTEL_SERVICE_NAME: 'signup',
        WAITFALL_TRACE_FILE: traceFile,
      },
    },
  );
  return { child, url: `http://127.0.0.1:${ready.port}` };
}

/** The outbox worker, which does not pass the link; null where the variant has no outbox. */
export async function startWorker(
  children: Children,
  variant: Variant,
  databaseUrl: string,
): Promise<ChildProcess | null> {
  if (variant.config.audit !== 'outbox') return null;
  const { child } = await children.start('outbox worker', new URL('../worker/main.ts', import.meta.url), {
    env: { DATABASE_URL: databaseUrl, AUDIT_BYTES: String(variant.config.auditBytes) },
  });
  return child;
}
