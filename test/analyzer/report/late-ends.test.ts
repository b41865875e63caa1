import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lateEnds } from '../../../analyzer/src/report/late-ends.ts';
import { repairs } from '../../../analyzer/src/report/sections/repairs.ts';
import type { InputSection } from '../../../analyzer/src/report/types.ts';
import type { Tally } from '../../../analyzer/src/tree/tally.ts';
import type { SkewPair } from '../../../analyzer/src/tree/types.ts';

const SKEW: SkewPair = { from: 'web', to: 'stock', count: 40, medianOffsetNs: -1_200_000 };

const tallyOf = (skew: SkewPair, trueRoots = 1000) =>
  ({ trueRoots, trees: trueRoots, counters: { skew: [skew] } }) as unknown as Tally;

const resource = (service: string, host: Record<string, string>) => ({
  service,
  instance: service,
  hasInstanceId: true,
  attributes: new Map(Object.entries(host)),
});
const on = (web: Record<string, string>, stock: Record<string, string>) => [
  resource('web', web),
  resource('stock', stock),
  resource('other', { 'host.name': 'elsewhere' }),
];

test('server spans that end a little after the call on the same host were recorded late', () => {
  const host = { 'host.name': 'node-7' };
  const [said] = lateEnds(tallyOf(SKEW), on(host, host));
  assert.equal(said.id, 'ends-recorded-late');
  assert.match(said.text, /^web and stock run on one host \(node-7\).* 40 server spans .* by 1\.2 ms/);
});

test('nothing is said of other hosts, unknown ones, large offsets, early starts and single spans', () => {
  const one = { 'host.name': 'node-7' };
  const silent: [SkewPair, ReturnType<typeof on>, number?][] = [
    [SKEW, on(one, { 'host.name': 'node-8' })],
    [SKEW, on({ ...one, 'host.id': 'a' }, { ...one, 'host.id': 'b' })],
    [SKEW, on(one, {})],
    [SKEW, on({}, {})],
    [{ ...SKEW, medianOffsetNs: -40e6 }, on(one, one)],
    [{ ...SKEW, medianOffsetNs: 1.2e6 }, on(one, one)],
    [SKEW, on(one, one), 100_000],
  ];
  for (const [skew, resources, requests] of silent)
    assert.deepEqual(lateEnds(tallyOf(skew, requests), resources), []);
});

test('the list of repairs takes a small offset for either, a large one for clocks', () => {
  const lines = (skew: SkewPair) =>
    repairs({ skew: [skew] } as unknown as InputSection).filter((line) => /web/.test(line));
  assert.match(
    lines(SKEW)[0],
    /^calls web → stock end before what they called: 40 spans moved, .* or ends recorded late/,
  );
  assert.match(lines({ ...SKEW, medianOffsetNs: -40e6 })[0], /^clocks of web → stock differ: 40 spans moved/);
});
