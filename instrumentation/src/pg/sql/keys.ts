import type { LockClause, ValueSource } from './plan.ts';

/** A statement that locks more rows than this by a list has no key: it is not a queue for one row. */
const MAX_KEYS = 16;

/**
 * @returns one string per locked row, equal for equal relation, columns and values; null where a value is
 * missing, null or not comparable as text. They hold values: they stay in this process, unhashed.
 */
export function rowKeys(lock: LockClause, values: readonly unknown[] | undefined): string[] | null {
  if (lock.key === null) return null;
  let prefix = lock.relation;
  for (const part of lock.key) prefix += `\0${part.column}`;
  let keys = [prefix];
  for (const part of lock.key) {
    const found = valuesOf(part.value, values);
    if (found === null || found.length === 0 || found.length > MAX_KEYS) return null;
    keys =
      found.length === 1
        ? keys.map((key) => `${key}\0${found[0]}`)
        : found.map((text) => `${keys[0]}\0${text}`);
  }
  return keys.length > 1 ? [...new Set(keys)] : keys;
}

function valuesOf(source: ValueSource, values: readonly unknown[] | undefined): string[] | null {
  if ('array' in source) return arrayTexts(values?.[source.array - 1]);
  if (!('list' in source)) {
    const text = textOf(source, values);
    return text === null ? null : [text];
  }
  const texts: string[] = [];
  for (const element of source.list) {
    const text = textOf(element, values);
    if (text === null) return null;
    texts.push(text);
  }
  return texts;
}

function textOf(source: ValueSource, values: readonly unknown[] | undefined): string | null {
  if ('literal' in source) return source.literal;
  return 'parameter' in source ? comparable(values?.[source.parameter - 1]) : null;
}

function arrayTexts(value: unknown): string[] | null {
  // pg also takes arrays as text: '{1,2}'.
  const plain =
    typeof value === 'string' && /^\{[^"\\{}]*\}$/.test(value) ? value.slice(1, -1).split(',') : value;
  if (!Array.isArray(plain)) return null;
  const texts = plain.map(comparable);
  return texts.includes(null) ? null : (texts as string[]);
}

/** @returns the value as PostgreSQL would receive it as text, or null where texts cannot be compared. */
function comparable(value: unknown): string | null {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      if (value instanceof Date) return value.toISOString();
      return Buffer.isBuffer(value) ? value.toString('hex') : null;
  }
}
