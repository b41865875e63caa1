import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLightAnswer } from '../../../analyzer/src/tui/background.ts';
import { detectTheme } from '../../../analyzer/src/tui/caps.ts';
import type { Line } from '../../../analyzer/src/tui/line.ts';
import { LETTERS, paint, type Theme, toAscii } from '../../../analyzer/src/tui/theme.ts';

const UTF8 = { LANG: 'C.UTF-8' };

test('colours follow the terminal: 16, 256, true colour, none', () => {
  const depth = (env: Record<string, string>, tty = true) => detectTheme({ ...UTF8, ...env }, tty).depth;
  assert.equal(depth({ TERM: 'xterm' }), 16);
  assert.equal(depth({ TERM: 'xterm-256color' }), 256);
  assert.equal(depth({ TERM: 'xterm-256color', COLORTERM: 'truecolor' }), 24);
  assert.equal(depth({ TERM: 'dumb' }), 0);
  assert.equal(depth({ TERM: 'xterm-256color', NO_COLOR: '1' }), 0);
  assert.equal(depth({ TERM: 'xterm-256color', NO_COLOR: '' }), 256);
  assert.equal(depth({ TERM: 'xterm', FORCE_COLOR: '3' }), 24);
  assert.equal(depth({ TERM: 'xterm-256color' }, false), null);
});

test('what the terminal says of its background wins over COLORFGBG, and a locale without UTF-8 means ASCII', () => {
  assert.equal(detectTheme({ ...UTF8, COLORFGBG: '0;15' }, true).light, true);
  assert.equal(detectTheme({ ...UTF8, COLORFGBG: '15;0' }, true).light, false);
  assert.equal(detectTheme({ ...UTF8, COLORFGBG: '15;0' }, true, { light: true }).light, true);
  assert.equal(detectTheme({ LANG: 'C' }, true).ascii, process.platform !== 'win32');
  assert.equal(detectTheme({ ...UTF8, TERM: 'linux' }, true).ascii, true);
});

test('the answer to the question for the background is read at any precision, and its absence is unknown', () => {
  assert.equal(isLightAnswer('\u001b]11;rgb:ffff/ffff/ffff\u0007\u001b[?1;2c'), true);
  assert.equal(isLightAnswer('\u001b]11;rgb:fd/f6/e3\u001b\\\u001b[?1;2c'), true);
  assert.equal(isLightAnswer('\u001b]11;rgb:1e1e/1e1e/2e2e\u0007\u001b[?1;2c'), false);
  assert.equal(isLightAnswer('\u001b[?1;2c'), undefined);
});

const LINE: Line = [
  ['lock', { bg: 'lock_wait' }],
  [' used ', { fg: 'bad', bold: true }],
  ['rest', { dim: true }],
];

test('one line in every depth and on both backgrounds', () => {
  const codes = (theme: Theme) => paint(LINE, theme).replaceAll('\u001b', '^');
  assert.equal(
    codes({ depth: 24, light: false, ascii: false }),
    '^[48;2;255;95;95;30mlock^[0m^[1;38;2;255;95;95m used ^[0m^[2mrest^[0m',
  );
  assert.equal(
    codes({ depth: 24, light: true, ascii: false }),
    '^[48;2;200;30;30;97mlock^[0m^[1;38;2;200;30;30m used ^[0m^[2mrest^[0m',
  );
  assert.equal(
    codes({ depth: 256, light: false, ascii: false }),
    '^[48;5;203;30mlock^[0m^[1;38;5;203m used ^[0m^[2mrest^[0m',
  );
  assert.equal(
    codes({ depth: 16, light: true, ascii: false }),
    '^[41;30mlock^[0m^[1;31m used ^[0m^[2mrest^[0m',
  );
  assert.equal(codes({ depth: 0, light: false, ascii: false }), '^[7mlock^[0m^[1m used ^[0m^[2mrest^[0m');
  assert.equal(codes({ depth: null, light: false, ascii: false }), 'lock used rest');
});

test('segments are told apart without colour: no two share a letter', () => {
  const letters = Object.entries(LETTERS).filter(([name]) => !['bad', 'warn', 'ok'].includes(name));
  assert.equal(new Set(letters.map(([, letter]) => letter)).size, letters.length);
});

test('ASCII keeps the width, of wide characters too', () => {
  assert.equal(toAscii('▁█ → 監査 é'), '_# > ???? ?');
});
