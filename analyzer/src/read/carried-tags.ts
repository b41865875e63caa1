import type { AttributeValue } from '../model/attributes.ts';
import { KIND, STATUS } from '../model/span.ts';
import type { SpanTableBuilder } from '../model/span-table-builder.ts';
import { decodeStatusCode } from './otlp-json.ts';
import { text } from './otlp-values.ts';

/*
 * What OTLP has fields for and older formats carry as tags:
 * https://opentelemetry.io/docs/specs/otel/common/mapping-to-non-otlp/. What is taken is no attribute any more.
 */

/** @returns the index of the instrumentation scope the tags name. */
export function takeScope(tags: Map<string, AttributeValue>, builder: SpanTableBuilder): number {
  const name = takeText(tags, 'otel.scope.name') || takeText(tags, 'otel.library.name');
  const version = takeText(tags, 'otel.scope.version') || takeText(tags, 'otel.library.version');
  return builder.scope(name, version);
}

/** @returns the status the tags tell. */
export function takeStatus(tags: Map<string, AttributeValue>): { code: number; message: string } {
  const message = takeText(tags, 'otel.status_description');
  let code = decodeStatusCode(takeText(tags, 'otel.status_code'));
  const error = tags.get('error');
  if (error === true || error === 'true') {
    tags.delete('error');
    if (code === STATUS.unset) code = STATUS.error;
  } else if (error === false || error === 'false') tags.delete('error');
  return { code, message };
}

/** @returns the text of a tag, empty when there is none. */
export function takeText(tags: Map<string, AttributeValue>, key: string): string {
  const value = tags.get(key);
  if (value === undefined) return '';
  tags.delete(key);
  return text(value);
}

/** @returns the KIND of a name in any case; unspecified for an unknown one. */
export function kindOf(name: string): number {
  const kind = name.toLowerCase() as keyof typeof KIND;
  return Object.hasOwn(KIND, kind) ? KIND[kind] : KIND.unspecified;
}
