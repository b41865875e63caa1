import type { Line } from '../line.ts';

export interface Series {
  /** One point each, in data units; null breaks the line. */
  readonly points: readonly (readonly [x: number, y: number | null])[];
  /** Every second step only: for a reference line such as the offered load. */
  readonly dotted?: boolean;
}

export interface PlotOptions {
  readonly columns: number;
  readonly rows: number;
  readonly xMax: number;
  readonly yMin: number;
  readonly yMax: number;
  readonly log?: boolean;
  /** Vertical mark in data units, drawn as a full column (the knee). */
  readonly markX?: number | null;
}

/** Bit of each dot in a braille cell, by column and row. */
const DOTS = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
];

/** @returns `rows` lines of braille, each `columns` cells wide, without axes. */
export function plot(series: readonly Series[], options: PlotOptions): Line[] {
  const { columns, rows } = options;
  const cells = Array.from({ length: rows }, () => new Uint8Array(columns));
  const dotsX = columns * 2 - 1;
  const dotsY = rows * 4 - 1;
  const scale = options.log ? (value: number) => Math.log10(Math.max(value, 1e-9)) : (value: number) => value;
  const low = scale(options.yMin);
  const span = scale(options.yMax) - low || 1;
  const toX = (x: number): number => Math.round((x / (options.xMax || 1)) * dotsX);
  const toY = (y: number): number => Math.round((1 - (scale(y) - low) / span) * dotsY);
  const set = (x: number, y: number): void => {
    if (x < 0 || x > dotsX || y < 0 || y > dotsY) return;
    cells[y >> 2][x >> 1] |= DOTS[x & 1][y & 3];
  };
  for (const { points, dotted } of series) {
    let previous: [number, number] | null = null;
    for (const [x, y] of points) {
      if (y === null || !Number.isFinite(y)) {
        previous = null;
        continue;
      }
      const at: [number, number] = [toX(x), toY(Math.min(options.yMax, Math.max(options.yMin, y)))];
      if (previous) drawLine(previous, at, dotted === true, set);
      else set(...at);
      previous = at;
    }
  }
  const mark = options.markX === null || options.markX === undefined ? -1 : toX(options.markX) >> 1;
  return cells.map((row) =>
    [...row].map((bits, column) =>
      column === mark ? ['⡇', { fg: 'bad' as const }] : [String.fromCharCode(0x2800 + bits)],
    ),
  );
}

function drawLine(
  [x0, y0]: [number, number],
  [x1, y1]: [number, number],
  dotted: boolean,
  set: (x: number, y: number) => void,
): void {
  const steps = Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0), 1);
  for (let step = 0; step <= steps; step++) {
    if (dotted && step % 3 !== 0) continue;
    set(Math.round(x0 + ((x1 - x0) * step) / steps), Math.round(y0 + ((y1 - y0) * step) / steps));
  }
}
