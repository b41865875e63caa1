/** Short numbers for sentences: three significant digits, never exponents. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return 'unknown';
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value
    .toFixed(Math.min(digits, 3))
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '');
}

/** `142/s` */
export function perSecond(value: number): string {
  return `${short(value)}/s`;
}

/** `11.3 ms`, `420 µs`, `90 ns`, `1.2 s` */
export function duration(ns: number): string {
  if (Math.abs(ns) >= 1e9) return `${short(ns / 1e9)} s`;
  if (Math.abs(ns) >= 1e6 || ns === 0) return `${short(ns / 1e6)} ms`;
  if (Math.abs(ns) >= 1e3) return `${short(ns / 1e3)} µs`;
  return `${short(ns)} ns`;
}

/** `46 %` of a ratio. */
export function percent(ratio: number): string {
  return `${short(100 * ratio)} %`;
}
