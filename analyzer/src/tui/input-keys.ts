import type { Key } from 'ink';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** A terminal's answer to the question for its background that comes too late: Ink hands it on in two pieces. */
function isLateAnswer(input: string, key: Partial<Key>): boolean {
  return (key.meta === true && input === ']') || /^\]?11;rgb:/.test(input);
}

/** @returns the names of the keys in one input event, as the key table spells them. */
export function keysOf(input: string, key: Partial<Key>): string[] {
  if (key.upArrow) return ['up'];
  if (key.downArrow) return ['down'];
  if (key.leftArrow) return ['left'];
  if (key.rightArrow) return ['right'];
  if (key.pageUp) return ['pageUp'];
  if (key.pageDown) return ['pageDown'];
  if (key.home) return ['home'];
  if (key.end) return ['end'];
  if (key.escape) return ['escape'];
  if (key.tab) return ['tab'];
  if (key.backspace || key.delete) return ['backspace'];
  if (key.return && input.length <= 1) return ['enter'];
  if (key.ctrl || isLateAnswer(input, key)) return [];
  // Alt means nothing here, and Esc followed at once by a key looks just like it.
  const names: string[] = key.meta ? ['escape'] : [];
  for (const { segment } of graphemes.segment(input)) {
    if (segment === '\r' || segment === '\n' || segment === '\r\n') names.push('enter');
    else if (segment === '\u007f' || segment === '\b') names.push('backspace');
    else if (segment === '\t') names.push('tab');
    else if (segment >= ' ') names.push(segment);
  }
  return names;
}
