import { parseByteSize } from '../model/byte-size.ts';
import { errors } from './errors.ts';

/** More is not taken without being asked for. */
const MOST_BYTES = 2 ** 30;

/**
 * Memory that reading and analysis may take before spans go to a file: what was asked for, else half of what is free,
 * at most 1 GiB.
 */
export function memoryBytes(asked: string | undefined): number {
  if (asked === undefined) return Math.min(MOST_BYTES, Math.floor(process.availableMemory() / 2));
  const bytes = parseByteSize(asked);
  if (bytes === null) throw errors.badOption('--memory', asked, 'write a size such as 256M or 2G');
  return bytes;
}
