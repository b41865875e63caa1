import type { Attributes, AttributeValue } from './attributes.ts';
import type { Resource } from './span.ts';
import { encodeValue } from './span-codes.ts';

/** @returns what is known of the process that has these attributes. */
export function toResource(attributes: Attributes): Resource {
  const text = (key: string): string => {
    const value = attributes.get(key);
    return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
  };
  const id = text('service.instance.id');
  const host = text('host.name') || text('host.id');
  const pid = text('process.pid');
  return {
    service: text('service.name') || 'unknown_service',
    instance: id || (host || pid ? `${host}:${pid}` : ''),
    hasInstanceId: id !== '',
    attributes,
  };
}

/** @returns the same text for the same attributes, whatever their order. */
export function stableKey(attributes: Attributes): string {
  return encodeValue([...attributes].sort(([a], [b]) => (a < b ? -1 : 1)) as unknown as AttributeValue);
}
