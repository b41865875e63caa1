import type { Rejected } from '../../model/input.ts';
import { list, type Section, section } from '../document.ts';
import { maybeLateEnds } from '../late-ends.ts';
import type { InputSection, Report } from '../types.ts';
import { count, duration } from '../units.ts';
import { plural } from './head.ts';

/** Rejected things listed one by one; the JSON report has them all. */
const MOST_REJECTED = 20;

/** What had to be repaired, what was left out, and why; nothing is dropped without a line here. */
export function repairSections({ input }: Report): Section[] {
  return [
    ...section('Repaired and left out', [list([...repairs(input), ...leftOut(input)])]),
    ...section(`Rejected (${count(input.rejected.length)})`, [list(rejectedLines(input.rejected))]),
  ];
}

/** @returns one sentence for each kind of repair that happened. */
export function repairs(input: InputSection): string[] {
  const out: string[] = [];
  const say = (n: number, text: string) => {
    if (n > 0) out.push(text);
  };
  say(input.duplicates, `${plural(input.duplicates, 'identical copy').replace('copys', 'copies')} dropped`);
  say(
    input.conflicts,
    `${plural(input.conflicts, 'conflicting copy').replace('copys', 'copies')}: the copy with the later end was kept`,
  );
  say(
    input.orphanRoots,
    `${plural(input.orphanRoots, 'tree')} whose parent is not in the input (orphans): incomplete traces`,
  );
  say(input.cycles, `${plural(input.cycles, 'cycle')} of parents cut`);
  say(
    input.quarantined + input.quarantinedSubtree,
    `${plural(input.quarantined, 'span')} with broken times set aside${
      input.quarantinedSubtree > 0 ? `, and ${count(input.quarantinedSubtree)} below them` : ''
    }`,
  );
  say(
    input.clamped,
    `${plural(input.clamped, 'span')} ended a little after the parent and ${wasWere(input.clamped)} clamped to it`,
  );
  say(
    input.adopted,
    `${plural(input.adopted, 'span')} outlived the parent and ${wasWere(input.adopted)} adopted by an ancestor`,
  );
  say(
    input.detached,
    `${plural(input.detached, 'span')} ended after everything that could have waited (detached), ${duration(input.detachedNs)} in total`,
  );
  say(
    input.abandoned,
    `${plural(input.abandoned, 'span')} ran on after the caller had given up (abandoned), ${duration(input.abandonedNs)} in total`,
  );
  for (const pair of input.skew) {
    const { from, to, count: n, medianOffsetNs } = pair;
    const moved = `${plural(n, 'span')} moved, median ${medianOffsetNs >= 0 ? '+' : ''}${duration(medianOffsetNs)}`;
    out.push(
      maybeLateEnds(pair)
        ? `calls ${from} → ${to} end before what they called: ${moved} (clocks that differ a little, or ends recorded late by a busy process)`
        : `clocks of ${from} → ${to} differ: ${moved}`,
    );
  }
  say(input.invalidIds, `${plural(input.invalidIds, 'span record')} without a usable id`);
  return out;
}

function leftOut(input: InputSection): string[] {
  const out: string[] = [];
  const say = (n: number, text: string) => {
    if (n > 0) out.push(text);
  };
  say(input.skipped.logs, `${plural(input.skipped.logs, 'log record')} skipped`);
  say(input.skipped.profiles, `${plural(input.skipped.profiles, 'profile')} skipped`);
  say(
    input.metrics.metrics,
    `${plural(input.metrics.metrics, 'metric')} with ${plural(input.metrics.dataPoints, 'data point')} read`,
  );
  return out;
}

/** @returns where and why, one line each: the first twenty. */
export function rejectedLines(rejected: readonly Rejected[]): string[] {
  const lines = rejected
    .slice(0, MOST_REJECTED)
    .map((each) => `${each.file}${placeOf(each)}: ${each.reason}`);
  const more = rejected.length - lines.length;
  return more > 0 ? [...lines, `… and ${count(more)} more, all in the JSON report`] : lines;
}

function placeOf({ line, record, offset }: Rejected): string {
  if (line !== undefined) return `, line ${line}`;
  if (record !== undefined) return `, record ${record}`;
  return offset === undefined ? '' : `, byte ${offset}`;
}

function wasWere(n: number): string {
  return n === 1 ? 'was' : 'were';
}
