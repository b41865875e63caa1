import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const clock = new URL('../../instrumentation/src/core/clock.ts', import.meta.url).href;

test('times handed to the SDK are pairs of integers for V8: as doubles they made its own code slower', () => {
  const program = `
    import { currentAnchor } from '${clock}';
    for (let i = 0; i < 20_000; i++) currentAnchor().toHrTime(performance.now() + i / 7);
    const time = currentAnchor().toHrTime(performance.now());
    console.log(%HasSmiElements(time), %HasDoubleElements(time), Math.abs(time[0] * 1e3 + time[1] / 1e6 - Date.now()) < 60_000);`;
  const said = execFileSync(
    process.execPath,
    ['--allow-natives-syntax', '--conditions=waitfall-source', '--input-type=module', '-e', program],
    { encoding: 'utf8', cwd: fileURLToPath(new URL('../..', import.meta.url)) },
  );
  assert.equal(said.trim(), 'true false true');
});
