import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Blueprint } from '../../sim/generate.ts';
import { measureTruth, type Truth, type TruthOptions } from '../../sim/truth.ts';

const SIM = fileURLToPath(new URL('../../sim/', import.meta.url));
const CACHE = `${SIM}.cache/`;

/** What decides the truth: it is measured anew whenever one of these has changed. */
const DECIDES = [
  'arrivals',
  'demand',
  'event-queue',
  'generate',
  'random',
  'relief',
  'scenario',
  'simulate',
  'stations',
  'statistics',
  'sustained',
  'truth',
];

const version = createHash('sha256')
  .update(DECIDES.map((name) => readFileSync(`${SIM}${name}.ts`, 'utf8')).join('\0'))
  .digest('hex')
  .slice(0, 12);

/** @returns the truth of a service, from the cache where the same simulator has measured it before. */
export function truthOf(print: Blueprint, options: TruthOptions): Truth {
  const name = [version, print.seed, print.family, print.shape, ...Object.values(options)].join('-');
  const path = `${CACHE}${name}.json`;
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as Truth;
  const { truth } = measureTruth(print, options);
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(path, JSON.stringify(truth));
  return truth;
}
