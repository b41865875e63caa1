import { bytes, count } from '../../report/units.ts';
import type { ReadingProgress } from '../session.ts';

/** @returns the part of the input that is read, 0 to 1; null where its size is unknown. */
export function shareRead({ bytes: done, totalBytes }: ReadingProgress): number | null {
  return totalBytes === null || totalBytes === 0 ? null : Math.min(1, done / totalBytes);
}

/** @returns how far the reading has come: `42 % of 1.03 GB · 123,456 spans`. */
export function progressText(progress: ReadingProgress): string {
  const share = shareRead(progress);
  const part =
    share === null
      ? bytes(progress.bytes)
      : `${Math.floor(share * 100)} % of ${bytes(progress.totalBytes ?? 0)}`;
  return `${part} · ${count(progress.spans)} spans`;
}
