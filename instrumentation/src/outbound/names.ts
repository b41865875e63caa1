import { PREFIX_CONNECT } from '../conventions.ts';

/** A service that calls hosts by the thousand (a crawler) gets one name for all beyond these. */
const MAX_NAMES = 200;

const known = new Set<string>();

/** @returns `prefix` with the host and port of a remote server, or `prefix` with `other` where there are too many. */
export function remoteResource(prefix: string, host: string, port: number | string | undefined): string {
  const bracketed = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const name = `${prefix}${bracketed}${port === undefined || port === '' ? '' : `:${port}`}`;
  if (known.has(name)) return name;
  if (known.size >= MAX_NAMES) return `${prefix}other`;
  known.add(name);
  return name;
}

/** @returns the resource that stands for opening a connection of a pool. */
export function connectResource(pool: string): string {
  return `${PREFIX_CONNECT}${pool}`;
}
