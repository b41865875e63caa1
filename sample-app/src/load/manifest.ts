import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { parse } from 'yaml';
import { ARRIVAL_PATTERNS, type ArrivalPattern } from './arrivals.ts';

export const PHASES = ['warmup', 'ramp', 'steady', 'overload', 'recovery'] as const;
export type Phase = (typeof PHASES)[number];

/** One stretch of time with constant load. */
export interface Step {
  readonly phase: Phase;
  readonly seconds: number;
  /** Open model: arrivals that do not care how the service is doing. */
  readonly arrivalsPerSecond?: number;
  /** Closed model: users that each wait for an answer before they ask again. */
  readonly users?: number;
}

/** One kind of request. Texts may hold placeholders, see `template.ts`. */
export interface RequestClass {
  readonly name: string;
  /** Weight among the classes; the shares need not add up to 1. */
  readonly share: number;
  readonly method: string;
  readonly path: string;
  /** The path with its parameters named, for reports: `/signup/:id`. Default: the path. */
  readonly route?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Status codes that answer the request as it should be answered. Default: 200 to 299. */
  readonly success?: readonly number[];
  /** Status codes by which the service turns the request away. Default: 429 and 503. */
  readonly rejected?: readonly number[];
}

/** Connections that are open before the first step, as those of a load balancer are. */
export interface Connect {
  readonly count: number;
  /** Asked for by that many requests at once, which are in no trace and in no count. */
  readonly path: string;
}

/** What the service should keep; judged from the steps of the phases `ramp` and `steady`. */
export interface Objective {
  readonly p99Ms?: number;
  readonly p999Ms?: number;
  readonly errorShare?: number;
  readonly goodputPerSecond?: number;
  readonly appCpuShare?: number;
  readonly dbCpuShare?: number;
  readonly recoverySeconds?: number;
}

/** Everything that fixes a load: the same manifest gives the same requests at the same offsets. */
export interface LoadManifest {
  readonly name: string;
  readonly seed: number;
  readonly model: 'open' | 'closed';
  readonly arrivals: ArrivalPattern;
  /** Open model: virtual users. An arrival that finds none free is dropped and counted. */
  readonly maxInFlight: number;
  /** The client gives up after this time from the sending. */
  readonly timeoutMs: number;
  /** Closed model: pause of a user after each answer. */
  readonly thinkMs: number;
  /** Closed model: further pause of a user who was turned away. */
  readonly backoffMs: number;
  /** Time allowed in all for running steps again that other programs disturbed, s. */
  readonly repeatSeconds: number;
  /** How often a request is sent at most: above 1, an attempt that timed out is sent again at once. */
  readonly attempts: number;
  /**
   * Without it every further connection is opened when it is needed. A Node server accepts one a turn of its
   * event loop: behind a full one a new connection waits unseen, even for a rejection.
   */
  readonly connect?: Connect;
  readonly steps: readonly Step[];
  readonly requests: readonly RequestClass[];
  readonly objective?: Objective;
}

const DEFAULTS = {
  seed: 1,
  model: 'open',
  arrivals: 'random',
  maxInFlight: 4000,
  timeoutMs: 30_000,
  thinkMs: 0,
  backoffMs: 0,
  attempts: 1,
  repeatSeconds: 0,
} as const;

/** @returns the manifest with its defaults filled in; throws an error that names the field that is wrong. */
export function checkManifest(content: unknown, source: string): LoadManifest {
  const fail = (problem: string): never => {
    throw new Error(`${source}: ${problem}`);
  };
  if (typeof content !== 'object' || content === null) return fail('a load manifest must be an object');
  const manifest = { name: 'load', ...DEFAULTS, ...(content as Partial<LoadManifest>) };
  const { model, arrivals, steps, requests } = manifest;
  if (model !== 'open' && model !== 'closed') fail(`"model" must be open or closed, not ${model}`);
  if (!ARRIVAL_PATTERNS.includes(arrivals)) fail(`"arrivals" must be one of ${ARRIVAL_PATTERNS.join(', ')}`);
  for (const name of ['seed', 'maxInFlight', 'timeoutMs', 'thinkMs', 'backoffMs', 'repeatSeconds'] as const) {
    if (!(manifest[name] >= 0)) fail(`"${name}" must be a number of at least 0`);
  }
  if (!(manifest.attempts >= 1)) fail('"attempts" must be a number of at least 1');
  const { connect } = manifest;
  if (connect !== undefined) {
    if (!(connect.count >= 1)) fail('connect.count must be a number of at least 1');
    if (!connect.path?.startsWith('/')) fail('connect.path must start with /');
  }
  if (!steps?.length) return fail('"steps" must list at least one step');
  steps.forEach((step, index) => {
    const where = `steps[${index}]`;
    if (!PHASES.includes(step.phase)) fail(`${where}.phase must be one of ${PHASES.join(', ')}`);
    if (!(step.seconds > 0)) fail(`${where}.seconds must be above 0`);
    if (model === 'open' && !(step.arrivalsPerSecond! > 0))
      fail(`${where}.arrivalsPerSecond must be above 0`);
    if (model === 'closed' && !(step.users! > 0)) fail(`${where}.users must be above 0`);
  });
  if (!requests?.length) return fail('"requests" must list at least one request');
  requests.forEach((request, index) => {
    const where = `requests[${index}]`;
    if (!(request.share > 0)) fail(`${where}.share must be above 0`);
    if (typeof request.name !== 'string') fail(`${where}.name must be a text`);
    if (typeof request.method !== 'string') fail(`${where}.method must be a text`);
    if (!request.path?.startsWith('/')) fail(`${where}.path must start with /`);
  });
  return { ...manifest, steps, requests };
}

/** Reads a manifest from a JSON or YAML file, or from standard input when the path is `-`. */
export async function readManifest(path: string): Promise<LoadManifest> {
  const content = path === '-' ? await text(process.stdin) : await readFile(path, 'utf8');
  return checkManifest(parse(content), path === '-' ? 'standard input' : path);
}

/** @returns a short hash by which two runs can be seen to have had the same load, whatever the key order. */
export function manifestHash(manifest: LoadManifest): string {
  return createHash('sha256').update(canonicalJson(manifest)).digest('hex').slice(0, 16);
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** @returns how long the planned steps take, s. */
export function plannedSeconds(manifest: LoadManifest): number {
  return manifest.steps.reduce((sum, step) => sum + step.seconds, 0);
}
