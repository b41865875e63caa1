import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Attributes } from '@opentelemetry/api';
import { VERSION } from '../core/version.ts';

/** @returns what identifies this process in an export; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` win. */
export function resourceFromEnv(env: NodeJS.ProcessEnv = process.env): { attributes: Attributes } {
  const attributes: Attributes = {
    'service.name': `unknown_service:${process.argv0}`,
    'telemetry.sdk.name': 'waitfall',
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.version': VERSION,
    'service.instance.id': randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
    'process.runtime.name': 'nodejs',
    'process.runtime.version': process.versions.node,
  };
  for (const pair of (env['OTEL_RESOURCE_ATTRIBUTES'] ?? '').split(',')) {
    const at = pair.indexOf('=');
    if (at <= 0) continue;
    attributes[pair.slice(0, at).trim()] = decoded(pair.slice(at + 1).trim());
  }
  if (env['OTEL_SERVICE_NAME']) attributes['service.name'] = env['OTEL_SERVICE_NAME'];
  return { attributes };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
