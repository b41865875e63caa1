import { type ExportOptions, FULL_EXPORT } from '../../sim/export/types.ts';
import type { Coverage } from '../../sim/generate.ts';
import { Random } from '../../sim/random.ts';

/** One way of looking at a simulated service. */
export interface Variant {
  readonly name: string;
  readonly says: string;
  readonly coverage?: Coverage;
  /** Requests simulated; sampled exports need more of them. */
  readonly requests: number;
  readonly options: (seed: number) => ExportOptions;
}

/** Half of the exports have exact clocks, the rest the clocks people have. */
const clockOf = (seed: number): ExportOptions['clock'] =>
  new Random(seed, 201).pick(['exact', 'exact', 'jitter', 'milliseconds'] as const);

const full =
  (change: Partial<ExportOptions> = {}) =>
  (seed: number): ExportOptions => ({
    ...FULL_EXPORT,
    clock: clockOf(seed),
    ...change,
  });

const REQUESTS = 2500;

export const VARIANTS: readonly Variant[] = [
  { name: 'full', says: 'all spans, load plan', requests: REQUESTS, options: full() },
  {
    name: 'dropped',
    says: 'loop waits and slices under 1 ms left out (the default)',
    requests: REQUESTS,
    options: full({ minSpanNs: 1_000_000 }),
  },
  {
    name: 'both',
    says: 'with the wrappers of the official packages',
    requests: REQUESTS,
    options: full({ spans: 'both' }),
  },
  {
    name: 'no-capacity',
    says: 'capacities not stated',
    requests: REQUESTS,
    options: full({ capacities: false }),
  },
  { name: 'no-plan', says: 'no load plan', requests: REQUESTS, options: full({ loadPlan: false }) },
  {
    name: 'head',
    says: '10 % head sampling, tracestate',
    requests: 8_000,
    options: full({ sampling: { kind: 'head', rate: 0.1 } }),
  },
  {
    name: 'tail',
    says: 'slowest 10 % and 10 % of the rest, tracestate',
    requests: 5_000,
    options: full({ sampling: { kind: 'tail', rate: 0.1, slowShare: 0.1, stated: true } }),
  },
  {
    name: 'tail-blind',
    says: 'the same without tracestate',
    requests: 5_000,
    options: full({ sampling: { kind: 'tail', rate: 0.1, slowShare: 0.1, stated: false } }),
  },
  {
    name: 'official',
    says: 'official OpenTelemetry spans only',
    requests: REQUESTS,
    options: full({ spans: 'official' }),
  },
  {
    name: 'two-services',
    says: 'the HTTP server called exports its own spans, by a clock of its own',
    requests: REQUESTS,
    options: full({ remote: 'instrumented' }),
  },
  {
    name: 'lossy',
    says: '3 % of the export batches lost',
    requests: REQUESTS,
    options: full({ lost: 0.03 }),
  },
  {
    name: 'early',
    says: 'rising steps that stop at 0.5 to 0.72 of the knee',
    coverage: 'below',
    requests: 2_000,
    options: full(),
  },
  {
    name: 'single',
    says: 'one steady step at 0.5 to 0.72 of the knee',
    coverage: 'single',
    requests: 1_500,
    options: full(),
  },
];
