import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const configFolder: string = fileURLToPath(new URL('../../../collector-config/', import.meta.url));

/** Every complete collector configuration, by file name. */
export const configNames: readonly string[] = globSync('*.yaml', { cwd: configFolder })
  .filter((name) => name !== 'builder.yaml')
  .sort();

type Settings = { readonly [key: string]: unknown };

export interface CollectorConfig {
  readonly receivers?: { readonly [id: string]: Settings | null };
  readonly processors?: { readonly [id: string]: Settings | null };
  readonly exporters?: { readonly [id: string]: Settings | null };
  readonly connectors?: { readonly [id: string]: Settings | null };
  readonly extensions?: { readonly [id: string]: Settings | null };
  readonly service: {
    readonly extensions?: readonly string[];
    readonly telemetry?: Settings;
    readonly pipelines: {
      readonly [id: string]: {
        readonly receivers: readonly string[];
        readonly processors?: readonly string[];
        readonly exporters: readonly string[];
      };
    };
  };
}

export function configPath(name: string): string {
  return join(configFolder, name);
}

export function configText(name: string): string {
  return readFileSync(configPath(name), 'utf8');
}

/** Replaces `${env:NAME:-default}` by its default, as the collector does when NAME is not set. */
export function withDefaults(text: string): string {
  return text.replace(/\$\{env:\w+:-([^}]*)\}/g, '$1');
}

/** A configuration as the collector sees it with an empty environment. */
export function loadConfig(name: string): CollectorConfig {
  return parse(withDefaults(configText(name)), { merge: true }) as CollectorConfig;
}

/** `otlp_grpc/metrics` is of type `otlp_grpc`. */
export function typeOf(componentId: string): string {
  return componentId.split('/')[0];
}
