import type { ForcedWork } from './forced.ts';

/** Everything that decides how the service treats a request; a variant is a set of these values. */
export interface ServiceConfig {
  /** `transaction`: the full audit record is written before COMMIT. `outbox`: a small row, expanded later. */
  readonly audit: 'transaction' | 'outbox';
  /** Whether the stock of the campaign is taken before the other writes of the transaction, or after them (with `transaction`). */
  readonly hotRow: 'first' | 'last';
  /** Rows over which the stock of one campaign is spread. */
  readonly stockRows: number;
  /** Rows of the audit record; each is a statement and a round trip of its own. */
  readonly auditRows: number;
  /** Parse the eligibility rules once instead of for every request. */
  readonly cacheRules: boolean;
  readonly poolMax: number;
  readonly slots: number;
  readonly queue: number;
  /** Size of the eligibility rules, KiB of JSON. */
  readonly rulesKiB: number;
  /** Size of one audit record, bytes of JSON. */
  readonly auditBytes: number;
  /** What a sign-up does besides; no variant sets it. */
  readonly forced?: ForcedWork;
}

/** One form of the service, and where its database connections run. */
export interface Variant {
  readonly title: string;
  /** Connections to PostgreSQL pass the link of limited bandwidth. */
  readonly throughLink: boolean;
  readonly config: ServiceConfig;
}

const BEFORE: ServiceConfig = {
  audit: 'transaction',
  hotRow: 'first',
  stockRows: 1,
  auditRows: 1,
  cacheRules: false,
  poolMax: 10,
  slots: 64,
  queue: 128,
  rulesKiB: 800,
  auditBytes: 56_000,
};

/** The forms of the service that the case study compares, by name. */
export const VARIANTS = {
  before: {
    title: 'audit record inside the transaction, after the stock was taken',
    throughLink: true,
    config: BEFORE,
  },
  'bigger-pool': {
    title: 'before, with 30 connections instead of 10',
    throughLink: true,
    config: { ...BEFORE, poolMax: 30 },
  },
  'more-slots': {
    title: 'before, with 256 admission slots instead of 64',
    throughLink: true,
    config: { ...BEFORE, slots: 256 },
  },
  'update-last': {
    title: 'the same writes, the hot row last',
    throughLink: true,
    config: { ...BEFORE, hotRow: 'last' },
  },
  after: {
    title: 'outbox row in the transaction, audit record written by a worker after commit',
    throughLink: true,
    config: { ...BEFORE, audit: 'outbox' },
  },
  'split-row': {
    title: 'before, with the stock of a campaign spread over 8 rows',
    throughLink: true,
    config: { ...BEFORE, stockRows: 8 },
  },
  'after-cached-rules': {
    title: 'after, with the rules parsed once',
    throughLink: true,
    config: { ...BEFORE, audit: 'outbox', cacheRules: true },
  },
  'real-rtt': {
    title: 'before without the link, the audit record in 8 rows: 8 more round trips while the row is locked',
    throughLink: false,
    config: { ...BEFORE, auditRows: 8 },
  },
} as const satisfies Record<string, Variant>;

export type VariantName = keyof typeof VARIANTS;

export const VARIANT_NAMES = Object.keys(VARIANTS) as VariantName[];

/** @returns the variant of that name; throws an error that lists the names there are. */
export function variantNamed(name: string): Variant {
  if (!Object.hasOwn(VARIANTS, name)) {
    throw new Error(`unknown variant "${name}"; there are: ${VARIANT_NAMES.join(', ')}`);
  }
  return VARIANTS[name as VariantName];
}
