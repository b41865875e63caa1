const SIZE = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?$/i;
const POWER: Readonly<Record<string, number>> = { '': 0, k: 1, m: 2, g: 3, t: 4 };

/** @returns bytes of `256M`, `1.5G`, `512 MiB`, `1000000`: units are powers of 1024; null when the text is no size. */
export function parseByteSize(text: string): number | null {
  const match = SIZE.exec(text.trim());
  return match === null ? null : Math.round(Number(match[1]) * 1024 ** POWER[match[2].toLowerCase()]);
}
