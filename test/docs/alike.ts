/** Numbers on a page may be this far from what is printed now: a rule that is refined moves them a little. */
const DRIFT = 0.25;
/** Below this, a number of the unit it stands in says "hardly any". */
const SMALL = 1.5;

const NUMBER = /\d+(?:[.,]\d+)*/g;
/** Bars, boxes and charts: their lengths are numbers too. */
const DRAWN = /[\u2580-\u259f\u2500-\u257f\u2800-\u28ff]+( +[\u2580-\u259f\u2500-\u257f\u2800-\u28ff]+)*/g;

/**
 * @returns where two outputs differ by more than their numbers, or by numbers that are too far apart; null where they do
 * not. Widths of columns are not compared: they follow the numbers.
 *
 * @param drift share by which numbers may differ; Infinity: at will.
 */
export function difference(shown: string, printed: string, drift = DRIFT): string | null {
  const [a, b] = [shown, printed].map((text) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => shapeOf(line, drift === Number.POSITIVE_INFINITY)),
  );
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    if (a[i]?.shape !== b[i]?.shape) return `line ${i + 1}: '${a[i]?.shape}' is now '${b[i]?.shape}'`;
    for (const [n, value] of a[i].numbers.entries()) {
      if (tooFar(value, b[i].numbers[n], drift)) return `line ${i + 1}: ${value} is now ${b[i].numbers[n]}`;
    }
  }
  return null;
}

/** @param anyUnit whether `900 µs` and `1.2 ms` are the same, as two measurements of one thing are. */
function shapeOf(line: string, anyUnit: boolean): { shape: string; numbers: number[] } {
  const numbers: number[] = [];
  const shape = line
    .replaceAll(DRAWN, '▒')
    // Ids are hexadecimal: they change with everything.
    .replaceAll(/\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b/g, 'ID')
    .replaceAll(NUMBER, (text) => {
      numbers.push(Number(text.replaceAll(',', '')));
      return '#';
    })
    .replaceAll(anyUnit ? /# (ns|µs|ms|s)\b/g : /(?!)/g, '# time')
    .replaceAll(/ +/g, ' ')
    .trim();
  return { shape, numbers };
}

function tooFar(a: number, b: number, drift: number): boolean {
  const size = Math.max(Math.abs(a), Math.abs(b));
  return size > SMALL && Math.abs(a - b) > drift * size;
}
