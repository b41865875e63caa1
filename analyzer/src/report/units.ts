/**
 * Numbers as people read them, with a unit each. The exact values stand in the JSON report; everything here is for
 * the eye: three significant digits. Unknown is a dash, never 0.
 */

const UNKNOWN = '–';

/** @returns a duration with its unit: `981 ms`, `48.2 ms`, `1.3 s`, `250 µs`, `12 ns`. */
export function duration(ns: number | bigint | null | undefined): string {
  if (ns === null || ns === undefined) return UNKNOWN;
  const value = Number(ns);
  const size = Math.abs(value);
  if (size >= 99.5e9 * 60) return `${digits(value / 3.6e12)} h`;
  if (size >= 99.5e9) return `${digits(value / 6e10)} min`;
  if (size >= 999.5e6) return `${digits(value / 1e9)} s`;
  if (size >= 999.5e3) return `${digits(value / 1e6)} ms`;
  if (size >= 999.5) return `${digits(value / 1e3)} µs`;
  return `${digits(value)} ns`;
}

/** @returns a rate: `137/s`. */
export function rate(perSecond: number | null | undefined): string {
  return perSecond === null || perSecond === undefined ? UNKNOWN : `${digits(perSecond)}/s`;
}

/** @returns a share of 0..1 in percent: `61 %`, `1.4 %`. A share that is small but not zero is never shown as 0. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined) return UNKNOWN;
  const value = share * 100;
  if (value > 0 && value < 0.05) return '<0.1 %';
  if (Math.abs(value) >= 9_999.5) return `${digits(value)} %`;
  return `${Math.abs(value) < 9.95 ? trimmed(value.toFixed(1)) : value.toFixed(0)} %`;
}

/** @returns a count with thousands separated: `61,204`. */
export function count(n: number | bigint | null | undefined): string {
  if (n === null || n === undefined) return UNKNOWN;
  return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** @returns a plain number with three significant digits. */
export function number(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : digits(value);
}

/** @returns a size: `1.03 GB` (powers of ten, as file managers show them). */
export function bytes(n: number): string {
  if (n >= 999.5e6) return `${digits(n / 1e9)} GB`;
  if (n >= 999.5e3) return `${digits(n / 1e6)} MB`;
  if (n >= 999.5) return `${digits(n / 1e3)} kB`;
  return `${n} B`;
}

/** @returns the time of day of an epoch time, UTC, to the millisecond: `12:04:31.207`. */
export function timeOfDay(unixNano: bigint): string {
  return new Date(Number(unixNano / 1_000_000n)).toISOString().slice(11, 23);
}

/** Powers of a thousand from a million on: longer numbers say nothing and burst every table. */
const LARGE = ['M', 'G', 'T', 'P', 'E'];

/** Three significant digits; whole numbers from 100 to a million, then with a letter for each power of a thousand. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 999_999.5) {
    const power = Math.min(LARGE.length, Math.floor(Math.log10(size) / 3) - 1);
    const scaled = value / 1000 ** (power + 1);
    if (Math.abs(scaled) >= 9_999_999) return value.toExponential(1);
    return `${digits(scaled)} ${LARGE[power - 1]}`;
  }
  if (size >= 99.95) return count(Math.round(value));
  if (size >= 9.995) return trimmed(value.toFixed(1));
  return trimmed(value.toFixed(2));
}

function trimmed(text: string): string {
  return (text.includes('.') ? text.replace(/\.?0+$/, '') : text).replace(/^-0$/, '0');
}
