import type { Color, Line, Style } from './line.ts';
import { width } from './width.ts';

/** How many colours the terminal shows; 0 keeps bold, dim, underline and reverse, null writes no escape at all. */
export type ColorDepth = null | 0 | 16 | 256 | 24;

export interface Theme {
  readonly depth: ColorDepth;
  readonly light: boolean;
  readonly ascii: boolean;
}

interface Shade {
  readonly dark: readonly [index: number, rgb: string];
  readonly light: readonly [index: number, rgb: string];
  /** SGR of the 16-colour set, chosen to hold on both backgrounds. */
  readonly basic: number;
}

/** Waits are warm, service is cool, unknown is grey. */
const SHADES: Readonly<Record<Color, Shade>> = {
  lock_wait: { dark: [203, 'ff5f5f'], light: [160, 'c81e1e'], basic: 31 },
  pool_wait: { dark: [215, 'ffaf5f'], light: [130, 'a85a00'], basic: 33 },
  admission_wait: { dark: [221, 'ffd75f'], light: [94, '7a5c00'], basic: 93 },
  eventloop_wait: { dark: [176, 'd787d7'], light: [127, 'a0209c'], basic: 35 },
  threadpool_wait: { dark: [141, 'af87ff'], light: [92, '7a2fd0'], basic: 95 },
  connection_wait: { dark: [209, 'ff875f'], light: [166, 'b8480a'], basic: 91 },
  runtime_pause: { dark: [168, 'd75f87'], light: [125, 'a01e5a'], basic: 35 },
  generator_wait: { dark: [245, '8a8a8a'], light: [243, '6c6c6c'], basic: 90 },
  work: { dark: [114, '87d787'], light: [28, '1a7f37'], basic: 32 },
  downstream: { dark: [80, '5fd7d7'], light: [30, '007a80'], basic: 36 },
  network: { dark: [75, '5fafff'], light: [26, '0a58c4'], basic: 34 },
  messaging: { dark: [111, '87afff'], light: [62, '4a50c8'], basic: 94 },
  unaccounted: { dark: [248, 'a8a8a8'], light: [244, '7a7a7a'], basic: 37 },
  abandoned: { dark: [240, '585858'], light: [250, 'bcbcbc'], basic: 90 },
  bad: { dark: [203, 'ff5f5f'], light: [160, 'c81e1e'], basic: 31 },
  warn: { dark: [215, 'ffaf5f'], light: [130, 'a85a00'], basic: 33 },
  ok: { dark: [114, '87d787'], light: [28, '1a7f37'], basic: 32 },
};

/** Letters that stand for segments where colour does not: waits upper case, service lower case. */
export const LETTERS: Readonly<Record<Color, string>> = {
  lock_wait: 'L',
  pool_wait: 'P',
  admission_wait: 'A',
  eventloop_wait: 'E',
  threadpool_wait: 'T',
  connection_wait: 'C',
  runtime_pause: 'R',
  generator_wait: 'G',
  work: 'w',
  downstream: 'd',
  network: 'n',
  messaging: 'm',
  unaccounted: '?',
  abandoned: 'x',
  bad: '!',
  warn: '!',
  ok: '+',
};

function colorCode(color: Color, theme: Theme, background: boolean): string {
  const shade = SHADES[color];
  if (theme.depth === 16) return String(shade.basic + (background ? 10 : 0));
  const [index, rgb] = theme.light ? shade.light : shade.dark;
  if (theme.depth === 256) return `${background ? 48 : 38};5;${index}`;
  const [r, g, b] = [0, 2, 4].map((at) => Number.parseInt(rgb.slice(at, at + 2), 16));
  return `${background ? 48 : 38};2;${r};${g};${b}`;
}

function codes(style: Style, theme: Theme): string {
  const out: string[] = [];
  if (style.bold) out.push('1');
  if (style.dim) out.push('2');
  if (style.underline) out.push('4');
  if (style.selected) out.push('7');
  if (theme.depth) {
    if (style.fg) out.push(colorCode(style.fg, theme, false));
    if (style.bg) {
      out.push(colorCode(style.bg, theme, true));
      // Labels inside bars: black on the dark palette, white on the light one.
      if (!style.fg) out.push(theme.depth === 16 ? '30' : theme.light ? '97' : '30');
    }
  } else if (style.bg) {
    out.push('7');
  }
  return out.join(';');
}

/** @returns the line as text with escape codes, ending its own; the text itself is not changed. */
export function paint(line: Line, theme: Theme): string {
  let out = '';
  for (const [text, style] of line) {
    const sgr = style && theme.depth !== null ? codes(style, theme) : '';
    const shown = theme.ascii ? toAscii(text) : text;
    out += sgr === '' ? shown : `\u001b[${sgr}m${shown}\u001b[0m`;
  }
  return out;
}

/** Same-width replacements: a longer one would break the columns. */
const ASCII: Readonly<Record<string, string>> = {
  '▁': '_',
  '▂': '.',
  '▃': ':',
  '▄': '-',
  '▅': '=',
  '▆': '+',
  '▇': '*',
  '█': '#',
  '▏': '|',
  '▎': '|',
  '▍': '|',
  '▌': '|',
  '▋': '#',
  '▊': '#',
  '▉': '#',
  '─': '-',
  '│': '|',
  '┌': '+',
  '┐': '+',
  '└': '+',
  '┘': '+',
  '├': '+',
  '┤': '+',
  '┬': '+',
  '┴': '+',
  '┼': '+',
  '━': '=',
  '┃': '#',
  '┏': '#',
  '┓': '#',
  '┗': '#',
  '┛': '#',
  '▶': '>',
  '▸': '>',
  '▾': 'v',
  '▲': '^',
  '·': '.',
  '…': '~',
  '≈': '~',
  '×': 'x',
  '–': '-',
  '—': '-',
  '→': '>',
  '←': '<',
  '↑': '^',
  '↓': 'v',
  '’': "'",
  '‘': "'",
  '“': '"',
  '”': '"',
  '›': '>',
  '≥': '>',
  '≤': '<',
  µ: 'u',
  '±': '~',
  '∞': '*',
  '⋯': '~',
  '¹': '1',
  '²': '2',
  '⡇': ':',
};

/** @returns the text in ASCII, cell for cell; data that is not ASCII becomes `?` in every cell it took. */
export function toAscii(text: string): string {
  if (/^[\u0000-\u007f]*$/.test(text)) return text;
  let out = '';
  for (const { segment } of graphemes.segment(text)) out += asciiCell(segment);
  return out;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

function asciiCell(segment: string): string {
  if (segment.length === 1 && segment.charCodeAt(0) < 128) return segment;
  const known = ASCII[segment];
  if (known !== undefined) return known;
  const code = segment.codePointAt(0)!;
  if (code >= 0x2800 && code <= 0x28ff) return code === 0x2800 ? ' ' : 'o';
  return '?'.repeat(Math.max(1, width(segment)));
}
