/** Control characters, and those that turn the direction of text: none may reach a terminal from a message of ours. */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** @returns text of the input as it may stand in a message: in quotes, cut to a length, without control characters. */
export function quote(text: string, length = 80): string {
  return `"${printable(text, length)}"`;
}

/** As {@link quote}, without the quotes. */
export function printable(text: string, length: number): string {
  const short = text.length > length ? `${text.slice(0, length).replace(/[\ud800-\udbff]$/, '')}…` : text;
  return short.replace(UNPRINTABLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
