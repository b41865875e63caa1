import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { samplesOf, widestFunctions } from '../../../instrumentation/src/profile/sample-owners.ts';
import { spawnService } from '../support/spawned.ts';

describe('the CPU profile', () => {
  test('a work span names the function that burned its time', async () => {
    const service = await spawnService('../../recorder/service.mjs', { WAITFALL_CPU_PROFILE: 'true' });
    // The first requests come before the profiler has started.
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (let i = 0; i < 5; i++) await (await fetch(`${service.url}/burn?ms=60`)).text();
    await service.stop();
    const slices = service
      .spans()
      .filter((span) => span.attributes['waitfall.segment'] === 'work')
      .map(
        (span) =>
          span.attributes['waitfall.cpu.functions'] as { values: { stringValue: string }[] } | undefined,
      );
    assert.ok(slices.length >= 5, `${slices.length} slices`);
    // Entries in brackets are no functions: time in which the process was not scheduled, or collected garbage.
    const widest = slices.flatMap(
      (list) =>
        list?.values.map((value) => value.stringValue).find((text) => !/^\d\.\d\d \(/.test(text)) ?? [],
    );
    assert.ok(widest.length >= 3, widest.join('; '));
    for (const text of widest) assert.match(text, /^[01]\.\d\d .*burnHere .*recorder\/service\.mjs:\d+$/);
  });

  test('functions of Node are named with the one they ran for', () => {
    const frame = (functionName: string, url: string, lineNumber: number) => ({
      functionName,
      url,
      lineNumber,
      columnNumber: 0,
      scriptId: '1',
    });
    const file = new URL('service.mjs', `file://${process.cwd()}/`).href;
    const samples = samplesOf({
      startTime: 1_000,
      endTime: 9_000,
      nodes: [
        { id: 1, callFrame: frame('(root)', '', -1), children: [2, 5] },
        { id: 2, callFrame: frame('handle', file, 11), children: [3] },
        { id: 3, callFrame: frame('parse', '', -1), children: [] },
        { id: 5, callFrame: frame('(garbage collector)', '', -1), children: [] },
      ],
      samples: [3, 3, 3, 2, 5],
      timeDeltas: [1_000, 1_000, 1_000, 1_000, 1_000],
    });
    assert.deepEqual(widestFunctions(samples, 2_000, 6_000), [
      '0.60 parse in handle service.mjs:12',
      '0.20 handle service.mjs:12',
      '0.20 (garbage collector)',
    ]);
    assert.deepEqual(widestFunctions(samples, 2_000, 4_000), ['1.00 parse in handle service.mjs:12']);
    assert.equal(widestFunctions(samples, 2_000, 2_500), undefined, 'one sample says nothing');
  });
});
