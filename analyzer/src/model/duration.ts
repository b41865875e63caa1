const DURATION = /^(\d+(?:\.\d+)?)\s*(ns|us|µs|μs|ms|s|m|min|h)$/;
const UNIT_NS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 6e10,
  min: 6e10,
  h: 3.6e12,
};

/** @returns whole ns of `1ms`, `250us`, `2s`, `1.5s`, `0`; null when the text is no duration. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim();
  if (trimmed === '0') return 0;
  const match = DURATION.exec(trimmed);
  return match === null ? null : Math.round(Number(match[1]) * UNIT_NS[match[2]]);
}

/**
 * @returns epoch ns of an ISO 8601 time (UTC where it names no zone) or of an epoch number, whose unit shows in its
 * length: 10 digits s, 13 ms, 16 µs, 19 ns; null when the text is no time.
 */
export function parseTime(text: string): bigint | null {
  const trimmed = text.trim();
  if (/^\d+$/.test(trimmed)) {
    const zeros = EPOCH_ZEROS[trimmed.length];
    return zeros === undefined ? null : BigInt(trimmed) * 10n ** zeros;
  }
  const match = ISO.exec(trimmed);
  if (match === null) return null;
  const [, day, time = '00:00:00', fraction = '', zone = 'Z'] = match;
  const seconds = Date.parse(`${day}T${time.length === 5 ? `${time}:00` : time}${zone}`);
  if (Number.isNaN(seconds)) return null;
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
}

const EPOCH_ZEROS: Readonly<Record<number, bigint>> = { 10: 9n, 13: 6n, 16: 3n, 19: 0n };
const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?)?(Z|[+-]\d\d:?\d\d)?$/;
