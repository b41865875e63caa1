import { warnOnce } from './warn.ts';

/** Versions of a library whose inside is known: from `from` on, below `below`. */
export interface VersionRange {
  readonly from: readonly [major: number, minor: number, patch: number];
  readonly below: number;
}

/**
 * @returns whether a library's version is in the range. An unknown one is left alone and said once; a missing
 * one (a library without a readable package.json) counts as known.
 */
export function isSupported(name: string, version: string | undefined, range: VersionRange): boolean {
  if (version === undefined) return true;
  const parts = version.split(/[.\-+]/, 3).map(Number);
  const [major, minor, patch] = parts;
  const [fromMajor, fromMinor, fromPatch] = range.from;
  const newEnough =
    major > fromMajor ||
    (major === fromMajor && (minor > fromMinor || (minor === fromMinor && patch >= fromPatch)));
  if (newEnough && major < range.below) return true;
  warnOnce(
    `version ${name}`,
    `${name} ${version} is not a version this package knows (${range.from.join('.')} to ${range.below - 1}.x): its waits are not recorded`,
  );
  return false;
}
