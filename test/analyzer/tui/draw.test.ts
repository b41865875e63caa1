import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apportion, bar } from '../../../analyzer/src/tui/draw/bar.ts';
import { plot } from '../../../analyzer/src/tui/draw/plot.ts';
import { sparkline } from '../../../analyzer/src/tui/draw/spark.ts';
import { stacked } from '../../../analyzer/src/tui/draw/stacked.ts';
import { strip } from '../../../analyzer/src/tui/draw/strip.ts';
import { layout, table, windowOf } from '../../../analyzer/src/tui/draw/table.ts';
import { waterfallBar } from '../../../analyzer/src/tui/draw/waterfall.ts';
import { lineWidth, plain } from '../../../analyzer/src/tui/line.ts';
import { COLOR, MONO_ASCII } from './support.ts';

test('a bar is exact to an eighth of a cell and always as wide as asked', () => {
  assert.equal(bar(0.5, 4), '██  ');
  assert.equal(bar(0.53, 4), '██▏ ');
  assert.equal(bar(7, 4), '████');
  assert.equal(bar(0, 4), '    ');
});

test('cells of a stacked bar sum to its width, also for nothing and for crumbs', () => {
  assert.deepEqual(apportion([1, 1, 1], 10), [4, 3, 3]);
  assert.deepEqual(apportion([0, 0], 10), [0, 0]);
  const parts = [
    { color: 'lock_wait', value: 1 },
    { color: 'work', value: 1000 },
  ] as const;
  assert.equal(lineWidth(stacked(parts, 20, COLOR)), 20);
  assert.equal(plain(stacked(parts, 3, MONO_ASCII)), 'www');
});

test('an empty stacked bar in a table is an empty cell', () => {
  const columns = [
    { title: 'a', cells: 3 },
    { title: 'b', cells: 4 },
  ];
  assert.equal(plain(table(columns, [{ cells: ['x', []] }], 20)[1]), ' x    ');
});

test('a sparkline keeps peaks and shows the unknown as a dot', () => {
  assert.equal(sparkline([0, 0.5, 1, null], 4), '▁▅█·');
  assert.equal(sparkline([0, 1, 0, 0], 2), '█▁');
});

test('columns of the highest priority number go first; the flexible one takes what is left', () => {
  const columns = [
    { title: 'name', cells: 5, flexible: true },
    { title: 'a', cells: 5, priority: 1 },
    { title: 'b', cells: 5, priority: 2 },
  ];
  assert.deepEqual(
    layout(columns, 30).map(({ cells }) => cells),
    [16, 5, 5].map((cells, index) => (index === 0 ? 30 - 1 - 3 - 10 : cells)),
  );
  assert.deepEqual(
    layout(columns, 14).map(({ index }) => index),
    [0, 1],
  );
});

test('the selection stays in sight while a list scrolls', () => {
  assert.equal(windowOf(0, 5, 10, 100), 0);
  assert.equal(windowOf(12, 5, 10, 100), 5);
  assert.equal(windowOf(30, 5, 10, 100), 21);
  assert.equal(windowOf(3, 50, 10, 8), 0);
  assert.equal(windowOf(9, 0, 10, 100, 2), 2, 'with two rows after it');
  assert.equal(windowOf(99, 0, 10, 100, 2), 90);
  assert.equal(windowOf(20, 19, 10, 100, 2), 18, 'and two before it');
});

test('labels that do not fit in their part stand in the legend', () => {
  const { bar: drawn, legend } = strip(
    [
      { color: 'lock_wait', label: 'lock wait 90 ms', value: 90 },
      { color: 'work', label: 'work 10 ms', value: 10 },
    ],
    40,
    COLOR,
  );
  assert.equal(lineWidth(drawn), 40);
  assert.match(plain(drawn), /lock wait 90 ms/);
  assert.match(plain(legend), /work 10 ms/);
});

test('an owned stretch is never shown as nothing, and time a child owns is a thin line', () => {
  const drawn = waterfallBar(
    {
      startNs: 0,
      endNs: 1000,
      owned: [
        [0, 500],
        [990, 991],
      ],
      segment: 'work',
      detached: false,
    },
    1000,
    10,
    COLOR,
  );
  assert.equal(plain(drawn), '█████────▌');
});

test('a line that rises is drawn from the bottom left to the top right', () => {
  const lines = plot(
    [
      {
        points: [
          [0, 0],
          [10, 10],
        ],
      },
    ],
    { columns: 4, rows: 2, xMax: 10, yMin: 0, yMax: 10 },
  ).map(plain);
  assert.equal(lines.length, 2);
  assert.equal(lines[0].slice(0, 1), '\u2800');
  assert.notEqual(lines[0].slice(-1), '\u2800');
  assert.notEqual(lines[1].slice(0, 1), '\u2800');
});
