import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type CommonFlags, textStyle } from '../../../analyzer/src/cli/options.ts';

const original = ['isTTY', 'columns'].map(
  (name) => [name, Object.getOwnPropertyDescriptor(process.stdout, name)] as const,
);
after(() => {
  for (const [name, descriptor] of original) {
    if (descriptor === undefined) Reflect.deleteProperty(process.stdout, name);
    else Object.defineProperty(process.stdout, name, descriptor);
  }
});

function columnsOn(isTTY: boolean, columns: number): number {
  for (const [name, value] of Object.entries({ isTTY, columns }))
    Object.defineProperty(process.stdout, name, { value, configurable: true });
  return textStyle({ color: true } as CommonFlags).columns;
}

test('text takes the width of a narrow terminal, and 80 columns everywhere else', () => {
  assert.equal(columnsOn(true, 60), 60);
  assert.equal(columnsOn(true, 200), 80);
  assert.equal(columnsOn(true, 10), 40);
  // Some pseudo terminals know no width.
  assert.equal(columnsOn(true, 0), 80);
  assert.equal(columnsOn(false, 60), 80);
});
