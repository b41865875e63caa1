import type { Report } from './types.ts';

declare global {
  interface JSON {
    /** ES2025: a value that JSON.stringify writes as it stands. */
    rawJSON(text: string): unknown;
  }
}

/**
 * Writes any part of a report as JSON: bigint as integer literals, except keys that end in `UnixNano` (epoch ns, as
 * text: most JSON readers would round them); keys that end in `Ns` as whole ns; shares and rates with nine significant
 * digits, because the last bits of a sum of doubles depend on the order of the input; what is not finite as null. Keys
 * stand in the order they were built in, which is the same for the same input.
 */
export function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(
    value,
    (key, v) => {
      if (typeof v === 'bigint') return key.endsWith('UnixNano') ? v.toString() : JSON.rawJSON(v.toString());
      if (typeof v !== 'number') return v;
      if (!Number.isFinite(v)) return null;
      if (Number.isInteger(v)) return v;
      return key.endsWith('Ns') ? Math.round(v) : Number(v.toPrecision(9));
    },
    indent,
  );
}

/** @returns the JSON report, indented, with a newline at its end. */
export function jsonReport(report: Report): string {
  return `${toJson(report, 2)}\n`;
}
