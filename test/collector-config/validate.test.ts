import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { collectorBinary, SAMPLING_GATES, skipWithoutCollector } from './support/binary.ts';
import { configNames, configPath } from './support/configs.ts';

for (const name of configNames) {
  test(`${name} validates with an empty environment`, { skip: skipWithoutCollector }, () => {
    const run = spawnSync(collectorBinary!, ['validate', `--config=${configPath(name)}`], {
      env: {},
      encoding: 'utf8',
    });
    assert.equal(run.status, 0, run.stderr);
    assert.doesNotMatch(run.stderr, /deprecat/i);
  });
}

test('the feature gates of the gateway exist', { skip: skipWithoutCollector }, () => {
  const run = spawnSync(
    collectorBinary!,
    ['validate', `--config=${configPath('gateway.yaml')}`, SAMPLING_GATES],
    { env: {}, encoding: 'utf8' },
  );
  assert.equal(run.status, 0, run.stderr);
});
