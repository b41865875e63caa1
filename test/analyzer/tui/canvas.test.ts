import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Canvas } from '../../../analyzer/src/tui/canvas.ts';
import { Out } from './terminal.ts';

const CLEAR = '\u001b[0m\u001b[2J';

function canvasOf(): { out: Out; canvas: Canvas; draw: (lines: readonly string[]) => string } {
  const out = new Out(80, 24);
  const canvas = new Canvas(out as unknown as NodeJS.WriteStream);
  return {
    out,
    canvas,
    draw: (lines) => {
      const seen = out.frames.length;
      canvas.stdout.write(`\u001b[2K\u001b[G${canvas.show(lines)}\n`);
      return out.frames.slice(seen).join('');
    },
  };
}

test('only lines that have changed are written, each to its place', () => {
  const { draw } = canvasOf();
  assert.equal(draw(['one', 'two', 'three']), `${CLEAR}\u001b[1;1Hone\u001b[2;1Htwo\u001b[3;1Hthree`);
  assert.equal(draw(['one', 'TWO', 'three']), '\u001b[2;1HTWO');
  assert.equal(draw(['one', 'TWO', 'three']), '');
});

test('the same picture has the same number, so that Ink writes it once', () => {
  const { canvas } = canvasOf();
  const lines = ['one'];
  assert.equal(canvas.show(lines), canvas.show(lines));
  assert.notEqual(canvas.show(lines), canvas.show(['one']));
});

test('whatever else is written, and a resize, makes the whole picture new; the cursor and its frame do not', () => {
  const { out, canvas, draw } = canvasOf();
  draw(['one', 'two']);
  canvas.stdout.write('\u001b[?2026h');
  assert.equal(draw(['one', 'TWO']), '\u001b[2;1HTWO');
  canvas.stdout.write('\u001b[?1049h');
  assert.equal(draw(['one', 'TWO']), `${CLEAR}\u001b[1;1Hone\u001b[2;1HTWO`);
  out.emit('resize');
  assert.equal(draw(['one', 'TWO']), `${CLEAR}\u001b[1;1Hone\u001b[2;1HTWO`);
});

test('it is the terminal in everything else', () => {
  const { out, canvas } = canvasOf();
  assert.equal(canvas.stdout.columns, 80);
  assert.equal(canvas.stdout.isTTY, true);
  let resized = 0;
  canvas.stdout.on('resize', () => resized++);
  out.emit('resize');
  assert.equal(resized, 1);
});
