import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  checkManifest,
  type LoadManifest,
  manifestHash,
  plannedSeconds,
  readManifest,
} from '../../sample-app/src/load/manifest.ts';
import { seededRandom } from '../../sample-app/src/load/random.ts';
import { RequestMix } from '../../sample-app/src/load/requests.ts';
import { Template } from '../../sample-app/src/load/template.ts';

const small = {
  steps: [{ phase: 'steady', arrivalsPerSecond: 10, seconds: 2 }],
  requests: [{ name: 'read', share: 1, method: 'GET', path: '/' }],
};

test('the hash depends on what the manifest says, not on the order of its keys', () => {
  const one = checkManifest({ seed: 1, name: 'a', ...small }, 'a');
  const other = checkManifest({ ...small, name: 'a', seed: 1 }, 'b');
  assert.equal(manifestHash(one), manifestHash(other));
  assert.notEqual(manifestHash(one), manifestHash({ ...one, seed: 2 }));
  const faster = { ...one, steps: [{ ...one.steps[0]!, arrivalsPerSecond: 11 }] };
  assert.notEqual(manifestHash(one), manifestHash(faster));
});

for (const [change, problem] of [
  [{ steps: [] }, /"steps" must list/],
  [{ steps: [{ phase: 'peak', arrivalsPerSecond: 1, seconds: 1 }] }, /steps\[0\]\.phase must be one of/],
  [{ steps: [{ phase: 'ramp', seconds: 1 }] }, /steps\[0\]\.arrivalsPerSecond/],
  [{ model: 'closed' }, /steps\[0\]\.users/],
  [{ model: 'half-open' }, /"model" must be open or closed/],
  [{ arrivals: 'bursts' }, /"arrivals" must be one of/],
  [{ timeoutMs: -1 }, /"timeoutMs"/],
  [{ connect: { count: 0, path: '/' } }, /connect\.count/],
  [{ connect: { count: 8, path: 'health' } }, /connect\.path/],
  [{ requests: [{ ...small.requests[0], share: 0 }] }, /requests\[0\]\.share/],
  [{ requests: [{ ...small.requests[0], path: 'x' }] }, /requests\[0\]\.path/],
] as const) {
  test(`a wrong manifest is refused by the name of its field: ${problem.source}`, () => {
    assert.throws(() => checkManifest({ ...small, ...change }, 'load.yaml'), problem);
  });
}

for (const name of ['case-study.yaml', 'quick.yaml']) {
  test(`${name} is valid, keeps 30 % result queries and 60 % visits of the hot campaign`, async () => {
    const path = fileURLToPath(new URL(`../../sample-app/manifests/${name}`, import.meta.url));
    const manifest = await readManifest(path);
    const total = manifest.requests.reduce((sum, request) => sum + request.share, 0);
    const share = (part: string) =>
      manifest.requests.filter((r) => r.name.includes(part)).reduce((sum, r) => sum + r.share, 0) / total;
    assert.ok(Math.abs(share('result') - 0.3) < 1e-9);
    assert.ok(Math.abs(share('hot campaign') - 0.6) < 1e-9);
    assert.ok(plannedSeconds(manifest) <= (name === 'quick.yaml' ? 35 : 70));
  });
}

test('placeholders: sequences count by name, recent values exist already, whole texts become numbers', () => {
  const template = new Template(seededRandom(9));
  assert.deepEqual(
    template.json({ a: '{{sequence x}}', b: ['{{sequence x}}', 'n{{sequence y}}'], c: true, d: null }),
    { a: 1, b: [2, 'n1'], c: true, d: null },
  );
  for (let index = 0; index < 50; index++) {
    const recent = template.json('{{recent x 5}}') as number;
    assert.ok(recent >= 1 && recent <= 2);
    const drawn = template.json('{{integer 3 5}}') as number;
    assert.ok(drawn >= 3 && drawn <= 5);
  }
  assert.throws(() => template.text('/{{now}}'), /unknown placeholder \{\{now\}\}/);
});

test('the mix keeps its shares and is the same for the same seed', () => {
  const manifest: LoadManifest = checkManifest(
    {
      ...small,
      requests: [
        { name: 'write', share: 3, method: 'POST', path: '/w', body: { id: '{{sequence w}}' } },
        { name: 'read', share: 1, method: 'GET', path: '/r/{{integer 1 9}}' },
      ],
    },
    'mix',
  );
  const draw = (seed: number) => {
    const mix = new RequestMix(manifest, seededRandom(seed));
    return Array.from({ length: 4000 }, () => mix.next());
  };
  const drawn = draw(4);
  const writes = drawn.filter((request) => request.class.name === 'write');
  assert.ok(Math.abs(writes.length / 4000 - 0.75) < 0.03, `${writes.length} of 4000`);
  assert.equal(writes[9]!.body, '{"id":10}');
  assert.deepEqual(drawn, draw(4));
});
