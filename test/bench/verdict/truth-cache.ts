import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Blueprint } from '../../sim/generate.ts';
import { measureTruth, type Truth, type TruthOptions } from '../../sim/truth.ts';

const SIM = fileURLToPath(new URL('../../sim/', import.meta.url));
const CACHE = `${SIM}.cache/`;

/** Files of the simulator that do not decide what is true; the truth is measured anew whenever one of the others has changed. */
const INDIFFERENT = /^(accounting|small|spans|write)\.ts$|\.test\.ts$|^export\b/;

const version = createHash('sha256')
  .update(
    globSync('**/*.ts', { cwd: SIM })
      .filter((name) => !INDIFFERENT.test(name))
      .sort()
      .map((name) => readFileSync(SIM + name, 'utf8'))
      .join('\0'),
  )
  .digest('hex')
  .slice(0, 12);

/** @returns the truth of a service, from the cache where the same simulator has measured it before. */
export function truthOf(print: Blueprint, options: TruthOptions): Truth {
  const { requests, planned, whatIf } = options;
  const path = (asked: boolean): string =>
    `${CACHE}${[version, print.seed, print.family, print.shape, requests, planned, asked].join('-')}.json`;
  if (existsSync(path(true))) {
    const known = JSON.parse(readFileSync(path(true), 'utf8')) as Truth;
    return whatIf ? known : { ...known, whatIf: [] };
  }
  if (!whatIf && existsSync(path(false))) return JSON.parse(readFileSync(path(false), 'utf8')) as Truth;
  const { truth } = measureTruth(print, options);
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(path(whatIf), JSON.stringify(truth));
  return truth;
}
