import stringWidth from 'string-width';

/** ASCII, box drawing, blocks and braille are one cell each: the common case never reaches string-width. */
const ONE_CELL =
  /^[\u0020-\u007e\u00a0-\u00ff\u2013\u2014\u2018-\u201d\u2026\u2190-\u2193\u2500-\u259f\u25b2\u25b8\u25be\u2800-\u28ff]*$/;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * What must never reach a terminal from data: control characters, bidirectional overrides, zero-width marks, lone
 * surrogates. Variation selectors and skin tones are dropped because terminals disagree about their width.
 */
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const AMBIGUOUS = /\ufe0f|\ud83c[\udffb-\udfff]/g;

/** @returns text of the input made safe to draw: one visible dot for each character that must not reach a terminal. */
export function clean(text: string): string {
  return text.replace(AMBIGUOUS, '').replace(UNSAFE, '·');
}

/** @returns how many cells a cleaned text takes. */
export function width(text: string): number {
  return ONE_CELL.test(text) ? text.length : stringWidth(text);
}

/** @returns the longest start of the text that fits in `cells`. */
function head(text: string, cells: number): string {
  if (ONE_CELL.test(text)) return text.slice(0, cells);
  let out = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    used += width(segment);
    if (used > cells) break;
    out += segment;
  }
  return out;
}

function tail(text: string, cells: number): string {
  if (ONE_CELL.test(text)) return cells === 0 ? '' : text.slice(-cells);
  const parts = [...graphemes.segment(text)].map((part) => part.segment).reverse();
  let out = '';
  let used = 0;
  for (const part of parts) {
    used += width(part);
    if (used > cells) break;
    out = part + out;
  }
  return out;
}

/** @returns the text cut at its end to `cells`, with an ellipsis where something is missing. */
export function cutEnd(text: string, cells: number): string {
  if (cells <= 0) return '';
  return width(text) <= cells ? text : `${head(text, cells - 1)}…`;
}

/** @returns the text cut in its middle: the tail of a name tells more apart than its head, so it gets 55 %. */
export function cutMiddle(text: string, cells: number): string {
  if (width(text) <= cells) return text;
  if (cells < 3) return cutEnd(text, cells);
  const first = Math.floor((cells - 1) * 0.45);
  return `${head(text, first)}…${tail(text, cells - 1 - first)}`;
}

/** @returns the text filled with spaces on the right to exactly `cells`; cut in the middle when too long. */
export function padEnd(text: string, cells: number): string {
  const fitted = cutMiddle(text, cells);
  return fitted + ' '.repeat(Math.max(0, cells - width(fitted)));
}

/** As {@link padEnd}, filled on the left: for numbers. */
export function padStart(text: string, cells: number): string {
  const fitted = cutMiddle(text, cells);
  return ' '.repeat(Math.max(0, cells - width(fitted))) + fitted;
}
