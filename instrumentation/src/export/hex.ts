/** Value of a hex digit by character code; everything else counts as 0. */
const DIGITS = new Uint8Array(128);
for (let value = 0; value < 16; value++) {
  DIGITS[value.toString(16).charCodeAt(0)] = value;
  DIGITS[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}

/** @returns eight hex digits of an id as a signed 32-bit integer. */
export function hexWord(text: string, at: number): number {
  let word = 0;
  for (let i = at; i < at + 8; i++) word = (word << 4) | DIGITS[text.charCodeAt(i) & 0x7f];
  return word;
}
