import { BASELINES } from './baselines.ts';
import type { Score, WhatIfScore } from './score.ts';
import { VARIANTS } from './variants.ts';

const HEAD = [
  'n',
  'saturating',
  'first',
  'acceptable',
  'clean',
  'false alarm',
  'chain',
  'chain|first',
  'knee med',
  'knee p90',
];

/** @returns the accuracy tables of a run, as text. */
export function accuracyTables(scores: readonly Score[]): string {
  const full = scores.filter((s) => s.variant === 'full');
  const parts: string[] = [];
  const ladder = (title: string, groups: readonly (readonly [string, readonly Score[]])[]): void => {
    const rows = groups
      .filter(([, group]) => group.length > 0)
      .map(([name, group]) => [name, ...accuracy(group)]);
    if (rows.length > 0) parts.push(table([title, ...HEAD], rows));
  };
  const by = (list: readonly Score[], key: (s: Score) => string): [string, Score[]][] =>
    [...Map.groupBy(list, key)].sort(([a], [b]) => (a < b ? -1 : 1));
  ladder('overall', [
    ['all spans, load plan', full],
    ['… demand constant, open loop', full.filter(isSteady)],
  ]);
  if (full.length > 0) parts.push(baselineTable(full));
  ladder(
    'by true queue',
    by(
      full.filter((s) => s.saturates),
      (s) => s.trueKind,
    ),
  );
  ladder(
    'by shape',
    by(full, (s) => s.shape),
  );
  ladder(
    'by variant',
    VARIANTS.filter((v) => v.coverage === undefined).map((v) => [
      v.name,
      scores.filter((s) => s.variant === v.name),
    ]),
  );
  // The same services in the full export: what a variant loses, without the luck of the draw.
  const plain = scores.filter((s) => s.variant === 'no-plan').map((s) => s.seed);
  if (plain.length > 0) {
    ladder('same seeds as no-plan', [['full', full.filter((s) => plain.includes(s.seed))]]);
  }
  parts.push(
    headroomTable(scores),
    whatIfTable(scores.flatMap((s) => s.whatIf)),
    findingsTable(full),
    confidenceTable(scores),
  );
  parts.push(speed(scores));
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Shapes whose demand depends on nothing and whose arrivals do not wait for answers: what the laws assume. */
const STEADY = ['plain', 'replicas', 'bounded', 'loss', 'idle'];

function isSteady(s: Score): boolean {
  return STEADY.includes(s.shape);
}

/** What is said of shapes that need a word of their own, next to how often it is said where it does not apply. */
function findingsTable(full: readonly Score[]): string {
  const rows = [...Map.groupBy(full, (s) => s.shape)].map(([shape, group]) => {
    const counts = new Map<string, number>();
    for (const s of group) for (const id of new Set(s.findings)) counts.set(id, (counts.get(id) ?? 0) + 1);
    const list = [...counts].sort((a, b) => b[1] - a[1]).map(([id, n]) => `${id} ${n}`);
    return [shape, String(group.length), list.join(', ')];
  });
  return rows.some((row) => row[2] !== '')
    ? table(['findings by shape', 'n', 'finding and services'], rows)
    : '';
}

function accuracy(group: readonly Score[]): string[] {
  const saturating = group.filter((s) => s.saturates);
  const quiet = group.filter((s) => !s.saturates);
  const clean = saturating.filter((s) => s.clean);
  const right = saturating.filter((s) => s.acceptableRight);
  const errors = saturating.flatMap((s) => (s.kneeError === null ? [] : [Math.abs(s.kneeError)]));
  return [
    String(group.length),
    String(saturating.length),
    percent(saturating, (s) => s.right),
    percent(saturating, (s) => s.acceptableRight),
    percent(clean, (s) => s.right),
    `${quiet.filter((s) => s.answer !== null).length}/${quiet.length}`,
    percent(saturating, (s) => s.chainExact),
    percent(right, (s) => s.chainExact),
    quantile(errors, 0.5),
    quantile(errors, 0.9),
  ];
}

function baselineTable(full: readonly Score[]): string {
  const saturating = full.filter((s) => s.saturates);
  const quiet = full.filter((s) => !s.saturates);
  return table(
    ['naive baseline', 'first', 'acceptable', 'false alarm'],
    BASELINES.map((name) => [
      name,
      percent(saturating, (s) => s.baselines[name] === s.trueFirst),
      percent(saturating, (s) => s.acceptable.includes(s.baselines[name] ?? '')),
      `${quiet.filter((s) => s.baselines[name] !== null).length}/${quiet.length}`,
    ]),
  );
}

function headroomTable(scores: readonly Score[]): string {
  const rows = ['early', 'single', 'full'].flatMap((variant) => {
    const group = scores.filter((s) => s.variant === variant && !s.saturates);
    if (group.length === 0) return [];
    const errors = group.flatMap((s) => (s.nextError === null ? [] : [Math.abs(s.nextError)]));
    return [
      [
        variant === 'full' ? 'family none' : variant,
        String(group.length),
        percent(group, (s) => s.nextRight),
        percent(group, (s) => s.nextError !== null && Math.abs(s.nextError) <= 0.15),
        quantile(errors, 0.5),
        `${group.filter((s) => s.answer !== null).length}/${group.length}`,
        [...Map.groupBy(group, (s) => s.status)]
          .map(([status, list]) => `${status} ${list.length}`)
          .join(', '),
      ],
    ];
  });
  if (rows.length === 0) return '';
  return table(
    ['below the knee', 'n', 'next right', 'rate within 15 %', 'rate err med', 'false alarm', 'status'],
    rows,
  );
}

function whatIfTable(scores: readonly WhatIfScore[]): string {
  if (scores.length === 0) return '';
  const said = scores.flatMap((s) => (s.error === null ? [] : [s.error]));
  const naive = scores.map((s) => s.naiveError);
  return table(
    ['what-if', 'n', 'answered', 'err med', 'err p90', 'within 15 %', 'in range', 'next acceptable'],
    [
      [
        'verdict',
        String(scores.length),
        percent(scores, (s) => s.error !== null),
        quantile(said, 0.5),
        quantile(said, 0.9),
        percent(scores, (s) => s.error !== null && s.error <= 0.15),
        percent(scores, (s) => s.inRange),
        percent(scores, (s) => s.nextRight),
      ],
      [
        'old knee x factor',
        String(scores.length),
        '',
        quantile(naive, 0.5),
        quantile(naive, 0.9),
        percent(scores, (s) => s.naiveError <= 0.15),
        '',
        '',
      ],
    ],
  );
}

/** A confidence is worth something only when "high" is right more often than "low". */
function confidenceTable(scores: readonly Score[]): string {
  const answered = scores.filter((s) => s.answer !== null);
  const rows = [...Map.groupBy(answered, (s) => s.confidence)].map(([level, group]) => [
    level,
    String(group.length),
    percent(group, (s) => s.saturates && s.acceptableRight),
  ]);
  return rows.length === 0 ? '' : table(['confidence', 'answers', 'acceptable'], rows);
}

function speed(scores: readonly Score[]): string {
  if (scores.length === 0) return '';
  const ranked = [...scores].sort((a, b) => a.analyzeMs - b.analyzeMs);
  const middle = ranked[ranked.length >> 1];
  const longest = ranked[ranked.length - 1];
  const crashed = scores.filter((s) => s.crash !== null).length;
  const of = (s: Score): string => `${s.analyzeMs.toFixed(0)} ms for ${s.spans} spans`;
  return `analysis: median ${of(middle)}, longest ${of(longest)}; crashes: ${crashed}`;
}

/** The goals of the verdict; each line says whether it is met. */
export function goals(scores: readonly Score[]): string {
  const of = (variant: string): Score[] => scores.filter((s) => s.variant === variant && s.saturates);
  const quiet = (variant: string): Score[] => scores.filter((s) => s.variant === variant && !s.saturates);
  const share = <T>(list: readonly T[], test: (item: T) => boolean): number | null =>
    list.length === 0 ? null : list.filter(test).length / list.length;
  const knee = of('full')
    .flatMap((s) => (s.kneeError === null ? [] : [Math.abs(s.kneeError)]))
    .sort((a, b) => a - b);
  const rank = (q: number): number | null =>
    knee.length === 0 ? null : knee[Math.ceil(q * knee.length) - 1];
  const below = scores.filter((s) => ['early', 'single'].includes(s.variant));
  const changes = scores.flatMap((s) => s.whatIf);
  const withoutPlan = share(of('no-plan'), (s) => s.acceptableRight);
  const seeds = new Set(of('no-plan').map((s) => s.seed));
  const withPlan = share(
    of('full').filter((s) => seeds.has(s.seed)),
    (s) => s.acceptableRight,
  );
  const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
  const compared = sum(scores.map((s) => s.compared));
  const lines: [string, number | null, number, 'at least' | 'at most'][] = [
    ['first queue acceptable', share(of('full'), (s) => s.acceptableRight), 0.95, 'at least'],
    [
      'right, near ties excluded',
      share(
        of('full').filter((s) => s.clean),
        (s) => s.right,
      ),
      0.97,
      'at least',
    ],
    ['false alarms', share(quiet('full'), (s) => s.answer !== null), 0.03, 'at most'],
    ['chain exact', share(of('full'), (s) => s.chainExact), 0.9, 'at least'],
    ['knee error, median', rank(0.5), 0.05, 'at most'],
    ['knee error, p90', rank(0.9), 0.18, 'at most'],
    ['head sampling acceptable', share(of('head'), (s) => s.acceptableRight), 0.92, 'at least'],
    ['tail sampling (th) acceptable', share(of('tail'), (s) => s.acceptableRight), 0.92, 'at least'],
    ['tail sampling (blind) acceptable', share(of('tail-blind'), (s) => s.acceptableRight), 0.8, 'at least'],
    ['official spans acceptable', share(of('official'), (s) => s.acceptableRight), 0.88, 'at least'],
    ['official spans false alarms', share(quiet('official'), (s) => s.answer !== null), 0.1, 'at most'],
    [
      'replicas acceptable',
      share(
        of('full').filter((s) => s.shape === 'replicas'),
        (s) => s.acceptableRight,
      ),
      0.92,
      'at least',
    ],
    [
      'lost without load plan',
      withPlan === null || withoutPlan === null ? null : withPlan - withoutPlan,
      0.02,
      'at most',
    ],
    ['below the knee: next queue right', share(below, (s) => s.nextRight), 0.9, 'at least'],
    [
      'below the knee: rate within 15 %',
      share(below, (s) => s.nextError !== null && Math.abs(s.nextError) <= 0.15),
      0.85,
      'at least',
    ],
    [
      'segments equal the ledger to the ns',
      compared === 0 ? null : 1 - sum(scores.map((s) => s.differing)) / compared,
      0.999,
      'at least',
    ],
    [
      'what-if knee within 15 %',
      share(changes, (c) => c.error !== null && c.error <= 0.15),
      0.75,
      'at least',
    ],
    ['what-if next queue acceptable', share(changes, (c) => c.nextRight), 0.8, 'at least'],
  ];
  return table(
    ['goal', 'wanted', 'measured', ''],
    lines.map(([name, value, limit, sense]) => [
      name,
      `${sense} ${+(limit * 100).toFixed(1)} %`,
      value === null ? '-' : `${(value * 100).toFixed(1)} %`,
      value === null
        ? 'not measured'
        : (sense === 'at least' ? value >= limit : value <= limit)
          ? 'met'
          : 'MISSED',
    ]),
  );
}

/** One line for each wrong answer, the truth beside it. */
export function failures(scores: readonly Score[]): string {
  const lines = scores.flatMap((s) => {
    const below = s.variant === 'early' || s.variant === 'single';
    const wrong: string[] = [];
    if (s.crash !== null) wrong.push(`CRASH ${s.crash}`);
    else if (s.saturates) {
      if (!s.acceptableRight) wrong.push(s.answer === null ? 'MISSED' : 'WRONG');
      else if (!s.chainExact) wrong.push('CHAIN');
      if (s.kneeError !== null && Math.abs(s.kneeError) > 0.18) wrong.push('KNEE');
    } else {
      if (s.answer !== null) wrong.push('FALSE ALARM');
      if (below && !s.nextRight) wrong.push('NEXT');
      else if (below && (s.nextError === null || Math.abs(s.nextError) > 0.15)) wrong.push('RATE');
    }
    if (wrong.length === 0) return [];
    const truth = s.saturates
      ? `${s.trueChain.join(' > ')}${s.optionalChain.length > 0 ? ` (> ${s.optionalChain.join(', ')})` : ''}`
      : s.trueFirst;
    const ties = s.acceptable.filter((name) => name !== s.trueFirst);
    const answer =
      s.saturates || s.answer !== null
        ? `${s.answer ?? s.status}: ${s.chainAnswer.join(' > ')}`
        : s.nextAnswer;
    const rate =
      s.saturates || s.answer !== null
        ? s.kneeAnswer
        : s.nextError === null
          ? null
          : s.trueKnee * (1 + s.nextError);
    return [
      `${String(s.seed).padStart(5)} ${s.variant.padEnd(11)} ${`${s.family}/${s.shape}`.padEnd(20)} ${wrong.join(' ').padEnd(11)} ` +
        `truth ${truth}${ties.length > 0 ? ` ~ ${ties.join(', ')}` : ''} @${s.trueKnee.toFixed(0)}/s | ` +
        `answer ${answer} @${rate === null ? '?' : rate.toFixed(0)}/s`,
    ];
  });
  return lines.length === 0 ? 'no failures' : lines.join('\n');
}

function percent<T>(list: readonly T[], test: (item: T) => boolean): string {
  return list.length === 0 ? '-' : `${((100 * list.filter(test).length) / list.length).toFixed(1)}`;
}

function quantile(values: readonly number[], q: number): string {
  if (values.length === 0) return '-';
  const sorted = [...values].sort((a, b) => a - b);
  return `${(100 * sorted[Math.ceil(q * sorted.length) - 1]).toFixed(1)}%`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i].length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])))
      .join('  ')
      .trimEnd();
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
}
