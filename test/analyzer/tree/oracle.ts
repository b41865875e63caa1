import { KIND } from '../../../analyzer/src/model/span.ts';
import type { SpanTable } from '../../../analyzer/src/model/span-table.ts';
import { copyText } from '../../../analyzer/src/tree/copy-text.ts';
import { BASE, type TestSpan, testId } from './spans.ts';

/**
 * The repair rules once more, as slowly and plainly as they can be said: objects, bigint epochs, repeated scans of the
 * whole list, no index, no order of traversal to get wrong. Only the text of the last tie of rule 1 is shared.
 */
export interface NaiveSpan {
  readonly row: number;
  readonly trace: string;
  readonly id: string;
  readonly parentId: string;
  readonly kind: number;
  readonly service: string;
  readonly instance: string | undefined;
  readonly gaveUp: boolean;
  readonly followsFrom: boolean;
  readonly isHold: boolean;
  readonly marked: boolean;
  /** Recorded times; moved by rule 5, never cut. */
  start: bigint | null;
  end: bigint | null;
  /** End after rules 6 and 7. */
  cutEnd: bigint;
  state: 'tree' | 'dropped' | 'quarantined' | 'hold' | 'detached';
  parent: NaiveSpan | null;
  rootKind: 'true' | 'orphan' | 'cycle' | null;
  missing: string;
}

export interface NaiveForest {
  readonly spans: readonly NaiveSpan[];
  readonly counters: Record<string, number | bigint>;
  /** `from>to offset` of every move. */
  readonly moves: readonly { from: string; to: string; offset: bigint }[];
}

export function naiveRepair(
  input: readonly TestSpan[],
  table: SpanTable,
  tolerance: bigint,
  keepClocks: boolean,
): NaiveForest {
  const spans = input.map((span, row) => naive(span, row));
  const counters = {
    duplicates: 0,
    conflicts: 0,
    quarantined: 0,
    quarantinedSubtree: 0,
    cycles: 0,
    clamped: 0,
    adopted: 0,
    detached: 0,
    detachedNs: 0n,
    abandoned: 0,
    abandonedNs: 0n,
  };
  const moves: { from: string; to: string; offset: bigint }[] = [];
  const alive = (): NaiveSpan[] => spans.filter((span) => span.state === 'tree');
  const childrenOf = (span: NaiveSpan): NaiveSpan[] => alive().filter((other) => other.parent === span);

  // 1
  const text = (span: NaiveSpan): string => copyText(table, span.row);
  for (const span of spans) {
    const copies = spans.filter((other) => same(other, span));
    if (copies[0] !== span) continue;
    const seen: NaiveSpan[] = [];
    for (const copy of copies) {
      if (seen.some((other) => text(other) === text(copy))) {
        copy.state = 'dropped';
        counters.duplicates++;
      } else seen.push(copy);
    }
    const isPair =
      seen.some((copy) => copy.kind === KIND.client) && seen.some((copy) => copy.kind === KIND.server);
    for (const half of isPair ? [seen.filter((c) => !isServerHalf(c)), seen.filter(isServerHalf)] : [seen]) {
      const winner = half.find((copy) => half.every((other) => other === copy || beats(copy, other, text)));
      for (const copy of half) {
        if (copy === winner) continue;
        copy.state = 'dropped';
        counters.conflicts++;
      }
    }
  }
  for (const span of alive()) {
    const partner = alive().find((other) => other !== span && same(other, span));
    if (partner !== undefined && isServerHalf(span)) {
      span.parent = partner;
      continue;
    }
    if (span.parentId === '') continue;
    const found = alive().filter((other) => other.trace === span.trace && other.id === span.parentId);
    const server = found.find(isServerHalf);
    const client = found.find((other) => !isServerHalf(other));
    if (found.length < 2) span.parent = found[0] ?? null;
    else if (server?.service === span.service) span.parent = server;
    else if (client?.service === span.service) span.parent = client;
    else span.parent = server ?? null;
  }

  // 2
  const broken = alive().filter(isBroken);
  const goes = new Set<NaiveSpan>();
  for (const span of alive()) {
    if (broken.includes(span)) continue;
    const met: NaiveSpan[] = [];
    let up = span.parent;
    while (up !== null && broken.includes(up) && !met.includes(up)) {
      met.push(up);
      up = up.parent;
    }
    if (met.length === 0) continue;
    if (up === null || met.includes(up)) goes.add(span);
    else span.parent = up;
  }
  for (let grew = true; grew; ) {
    grew = false;
    for (const span of alive()) {
      if (broken.includes(span) || goes.has(span) || span.parent === null || !goes.has(span.parent)) continue;
      goes.add(span);
      grew = true;
    }
  }
  for (const span of broken) span.state = 'quarantined';
  for (const span of goes) span.state = 'quarantined';
  counters.quarantined = broken.length;
  counters.quarantinedSubtree = goes.size;

  // 3
  for (const span of alive()) {
    if (span.parent !== null) continue;
    span.rootKind = span.parentId === '' ? 'true' : 'orphan';
    span.missing = span.parentId;
  }
  for (const span of alive()) {
    const circle: NaiveSpan[] = [];
    let up: NaiveSpan | null = span;
    while (up !== null && !circle.includes(up)) {
      circle.push(up);
      up = up.parent;
    }
    if (up !== span) continue;
    counters.cycles++;
    const first = circle.sort(
      (a, b) =>
        sign(a.start! - b.start!) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0) || (isServerHalf(a) ? 1 : -1),
    )[0];
    first.parent = null;
    first.rootKind = 'cycle';
  }

  // 4
  for (const hold of alive().filter((span) => span.isHold)) {
    for (const child of childrenOf(hold)) {
      child.parent = hold.parent;
      child.rootKind = hold.parent === null ? hold.rootKind : null;
      child.missing = hold.parent === null ? hold.missing : '';
    }
    hold.state = 'hold';
    for (const other of spans)
      if (other.state === 'hold' && other.parent === hold) other.parent = hold.parent;
  }

  // 5
  const move = (span: NaiveSpan, offset: bigint): void => {
    span.start = span.start! + offset;
    span.end = span.end! + offset;
    for (const child of spans) {
      if (child.parent === span && (child.state === 'tree' || child.state === 'hold')) move(child, offset);
    }
  };
  const skew = (span: NaiveSpan): void => {
    for (const child of childrenOf(span)) {
      const otherProcess =
        child.service !== span.service ||
        (child.instance !== undefined && span.instance !== undefined && child.instance !== span.instance);
      const out = child.start! < span.start! - tolerance || child.end! > span.end! + tolerance;
      const fits = child.end! - child.start! <= span.end! - span.start!;
      const calls = (span.kind === KIND.client || span.kind === KIND.producer) && child.kind === KIND.server;
      if (!keepClocks && otherProcess && calls && !span.gaveUp && out && fits) {
        const right = span.start! - child.start!;
        const left = span.end! - child.end!;
        const offset = right <= 0n ? left : right;
        moves.push({ from: span.service, to: child.service, offset });
        move(child, offset);
      }
      skew(child);
    }
  };
  for (const root of alive().filter((span) => span.parent === null)) skew(root);

  // 6
  for (const span of spans) if (span.end !== null) span.cutEnd = span.end;
  const cutTo = (span: NaiveSpan, to: NaiveSpan): void => {
    if (to.end! < span.cutEnd) span.cutEnd = to.end!;
    if (span.cutEnd < span.start!) span.cutEnd = span.start!;
  };
  for (const span of alive()) {
    if (span.parent === null) continue;
    const over = span.end! - span.parent.end!;
    if (over > 0n && over <= tolerance) {
      cutTo(span, span.parent);
      counters.clamped++;
    }
  }

  // 7
  const detach = (span: NaiveSpan): void => {
    const below = childrenOf(span);
    span.state = 'detached';
    below.forEach(detach);
  };
  const settle = (span: NaiveSpan): void => {
    const above = span.parent;
    if (above !== null && span.end! > above.end! + tolerance) {
      if ((span.kind === KIND.server && above.kind === KIND.client) || above.gaveUp) {
        counters.abandoned++;
        const late = span.start! >= above.end!;
        counters.abandonedNs += span.end! - (late ? span.start! : above.end!);
        cutTo(span, above);
      } else {
        let adopter: NaiveSpan | null = null;
        if (span.kind !== KIND.consumer && !span.followsFrom) {
          adopter = above.parent;
          while (adopter !== null && span.end! > adopter.end! + tolerance) adopter = adopter.parent;
        }
        if (adopter === null) {
          counters.detached++;
          counters.detachedNs += span.end! - span.start!;
          detach(span);
          return;
        }
        counters.adopted++;
        if (span.end! > adopter.end!) counters.clamped++;
        const below = childrenOf(span);
        span.parent = adopter;
        cutTo(span, adopter);
        below.forEach(settle);
        return;
      }
    }
    childrenOf(span).forEach(settle);
  };
  for (const root of alive().filter((span) => span.parent === null)) settle(root);
  return { spans, counters, moves };
}

function naive(span: TestSpan, row: number): NaiveSpan {
  const outcome = span.attributes?.['waitfall.outcome'];
  return {
    row,
    trace: span.trace ?? '1',
    id: testId(span.id),
    parentId: span.parent === undefined ? '' : testId(span.parent),
    kind: KIND[span.kind ?? 'internal'],
    service: span.service ?? 'shop',
    instance: span.instance,
    gaveUp: (span.error ?? false) || outcome === 'timeout' || outcome === 'aborted' || outcome === 'rejected',
    followsFrom: span.followsFrom ?? false,
    isHold: span.attributes?.['waitfall.segment'] === 'hold',
    marked: span.shared ?? false,
    start: typeof span.start === 'number' ? BASE + BigInt(span.start) : span.start,
    end: typeof span.end === 'number' ? BASE + BigInt(span.end) : span.end,
    cutEnd: 0n,
    state: 'tree',
    parent: null,
    rootKind: null,
    missing: '',
  };
}

function same(a: NaiveSpan, b: NaiveSpan): boolean {
  return a.trace === b.trace && a.id === b.id;
}

function isServerHalf(span: NaiveSpan): boolean {
  return span.kind === KIND.server || (span.kind !== KIND.client && span.marked);
}

function isBroken({ start, end }: NaiveSpan): boolean {
  if (start === null || end === null) return true;
  if (end < start || end - start >= 2n ** 53n) return true;
  return start === 0n && end >= 946_684_800_000_000_000n;
}

function beats(a: NaiveSpan, b: NaiveSpan, text: (span: NaiveSpan) => string): boolean {
  if (isBroken(a) !== isBroken(b)) return isBroken(b);
  const end = sign((a.end ?? 0n) - (b.end ?? 0n));
  if (end !== 0) return end > 0;
  const start = sign((a.start ?? 0n) - (b.start ?? 0n));
  if (start !== 0) return start < 0;
  return text(a) < text(b);
}

function sign(value: bigint): number {
  return value < 0n ? -1 : value > 0n ? 1 : 0;
}
