import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeRunDirectory } from '../../sample-app/src/run/command.ts';

test('runs that start in the same second get directories of their own', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'waitfall-test-'));
  const made = await Promise.all([1, 2, 3].map(() => makeRunDirectory(join(parent, 'runs'), 'before')));
  assert.equal(new Set(made).size, 3);
  assert.ok(readdirSync(join(parent, 'runs')).every((name) => name.endsWith('-before')));
  rmSync(parent, { recursive: true });
});
