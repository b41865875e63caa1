import type { Attributes } from '@opentelemetry/api';

const shared = new WeakMap<Attributes, Map<string, unknown>>();

/**
 * Marks attributes that many spans have in common and nobody changes: encoders keep their encoded form.
 *
 * @returns the same object, frozen.
 */
export function shareAttributes(attributes: Attributes): Attributes {
  const frozen = Object.freeze(attributes);
  shared.set(frozen, new Map());
  return frozen;
}

/** @returns the encoded form of shared attributes, encoded once per format; undefined for attributes of one span. */
export function encodedOnce<T>(attributes: Attributes, format: string, encode: () => T): T | undefined {
  const forms = shared.get(attributes);
  if (forms === undefined) return undefined;
  let form = forms.get(format) as T | undefined;
  if (form === undefined) {
    form = encode();
    forms.set(format, form);
  }
  return form;
}

/** @returns attributes that the processors of a service may change: a copy where they are shared. */
export function ownAttributes(attributes: Attributes): Attributes {
  return shared.has(attributes) ? { ...attributes } : attributes;
}
