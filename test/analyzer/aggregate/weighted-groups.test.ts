import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Parts, requestGroup } from '../../../analyzer/src/aggregate/groups.ts';
import type { Requests } from '../../../analyzer/src/aggregate/requests-types.ts';
import { explains } from '../../../analyzer/src/aggregate/split.ts';
import { REQUEST_OUTCOMES } from '../../../analyzer/src/classify/types.ts';
import { Random } from '../../sim/random.ts';

interface One {
  readonly durationNs: number;
  readonly outcome: number;
  readonly weight: number;
  /** Time owned by each of three parts. */
  readonly parts: readonly number[];
}

function draw(seed: number, n: number): One[] {
  const random = new Random(seed, 1);
  return Array.from({ length: n }, () => {
    const parts = [0, 1, 2].map(() => (random.chance(0.4) ? 0 : 1 + random.below(1_000_000)));
    return {
      durationNs: parts.reduce((a, b) => a + b, 0),
      outcome: random.chance(0.8) ? 0 : random.below(REQUEST_OUTCOMES.length),
      weight: 1 + random.below(20),
      parts,
    };
  });
}

function tabled(list: readonly One[]): { requests: Requests; parts: Parts; members: Int32Array } {
  const members = Int32Array.from(list, (_, i) => i);
  const entries = list.map((one) => one.parts.flatMap((ns, key) => (ns > 0 ? [{ ns, key }] : [])));
  const offset = new Uint32Array(list.length + 1);
  entries.forEach((own, i) => {
    offset[i + 1] = offset[i] + own.length;
  });
  return {
    members,
    requests: {
      count: list.length,
      originUnixNano: 0n,
      tree: members,
      startNs: Float64Array.from(members),
      durationNs: Float64Array.from(list, (one) => one.durationNs),
      outcome: Uint8Array.from(list, (one) => one.outcome),
      route: new Int32Array(list.length),
      routes: ['/'],
      weight: Float64Array.from(list, (one) => one.weight),
      chosenWithoutWeight: 0,
      window: new Int32Array(list.length),
      outcomes: REQUEST_OUTCOMES,
      substitutes: false,
    },
    parts: {
      keys: (['pool_wait', 'work', 'unaccounted'] as const).map((segment) => ({
        service: 's',
        segment,
        resource: null,
      })),
      offset,
      key: Uint32Array.from(entries.flat(), (entry) => entry.key),
      ns: Float64Array.from(entries.flat(), (entry) => entry.ns),
      parallelNs: Float64Array.from(list, (one) => Math.floor(one.durationNs / 3)),
    },
  };
}

test('a weighted request counts as often as its weight says, in every number of a group', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const list = draw(seed, 1 + seed * 7);
    const weighted = tabled(list);
    const repeated = tabled(
      list.flatMap((one) => Array.from({ length: one.weight }, () => ({ ...one, weight: 1 }))),
    );
    const a = requestGroup(weighted.requests, weighted.parts, weighted.members);
    const b = requestGroup(repeated.requests, repeated.parts, repeated.members);
    assert.deepEqual(
      { ...a, latencyNs: null, goodLatencyNs: null, cohorts: null },
      {
        ...b,
        latencyNs: null,
        goodLatencyNs: null,
        cohorts: null,
      },
    );
    for (const name of ['latencyNs', 'goodLatencyNs'] as const) {
      assert.deepEqual({ ...a[name], n: 0 }, { ...b[name], n: 0 });
    }
    assert.equal(a.latencyNs.n, list.length);
    for (const { meanNs, segments } of a.cohorts) {
      assert.equal(
        segments.reduce((sum, part) => sum + part.meanNs, 0),
        meanNs,
      );
    }
  }
});

test('weights that are no whole numbers keep counts and outcomes consistent', () => {
  const { requests, parts, members } = tabled(draw(3, 200));
  requests.weight.fill(1 / 0.3);
  const group = requestGroup(requests, parts, members);
  assert.equal(group.count, Math.round(200 / 0.3));
  assert.equal(
    Object.values(group.byOutcome).reduce((a, b) => a + b, 0),
    group.count,
  );
});

test('a value explains slow requests by the requests it stands for', () => {
  // Nine kept slow ones stand for themselves, one fast one for a hundred: slow is rare, not usual.
  const list = Array.from({ length: 10 }, (_, i): One => {
    const fast = i === 9;
    const durationNs = fast ? 1_000 : 1_000_000 + i;
    return { durationNs, outcome: 0, weight: fast ? 100 : 1, parts: [durationNs, 0, 0] };
  });
  const { requests, members } = tabled(list);
  const splits = [
    { value: 'slow', members: Array.from(members.subarray(0, 9)) },
    { value: 'fast', members: [9] },
  ];
  const found = explains(requests, members, splits);
  assert.equal(found?.value, 'slow');
  assert.equal(found.shareOfAll, 9 / 109);
});
