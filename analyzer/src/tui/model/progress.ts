import { bytes, count } from '../../report/units.ts';
import type { ReadingProgress, Stage } from '../session.ts';
import type { View } from '../state.ts';

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

/** What a view needs before it can show anything; the others need the whole analysis. */
const NEEDS: Readonly<Partial<Record<View, Stage>>> = {
  help: 'reading',
  input: 'requests',
  routes: 'requests',
  traces: 'requests',
  trace: 'requests',
};

const STAGES: readonly Stage[] = ['reading', 'requests', 'complete'];

/** @returns true when the analysis has come far enough for a view. */
export function canShow(view: View, stage: Stage): boolean {
  return STAGES.indexOf(stage) >= STAGES.indexOf(NEEDS[view] ?? 'complete');
}
