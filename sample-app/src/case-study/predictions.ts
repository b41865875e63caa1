import { waitfall } from '../run/analyzer.ts';
import type { ReportFile, ReportWhatIf } from '../run/report-file.ts';
import { VARIANTS, type VariantName } from '../service/variants.ts';

/** Name of the row lock that everybody waits for in "before". */
export const HOT_LOCK = 'lock:campaign';

/** Spans of the statement that writes the audit record, by its name or by its first word; no other INSERT stands alone. */
const AUDIT_STATEMENT = /\b(audit|INSERT)\b/;

/** What the before run says a fix would do, asked before the fix is tried. */
export type Predictions = ReadonlyMap<VariantName, ReportWhatIf>;

/** The change of one queue that a variant is, in the words of `--what-if`; null where it is not one such change. */
export function changeOf(variant: VariantName, before: ReportFile): string | null {
  if (variant === 'split-row') return `${HOT_LOCK} visits x${1 / VARIANTS['split-row'].config.stockRows}`;
  if (variant !== 'update-last') return null;
  // The audit record is written before the row is locked: what it took of the hold is gone.
  const lock = before.resources.find(({ resource }) => resource === HOT_LOCK);
  const audit = (lock?.holdComposition ?? []).filter(({ what }) => AUDIT_STATEMENT.test(what));
  const share = audit.reduce((sum, part) => sum + part.share, 0);
  return share > 0 && share < 1 ? `${HOT_LOCK} hold x${(1 - share).toFixed(2)}` : null;
}

/** Asks the analyzer what the before run predicts for each of these variants. */
export async function predict(
  directory: string,
  before: ReportFile,
  variants: readonly VariantName[],
): Promise<Predictions> {
  const predictions = new Map<VariantName, ReportWhatIf>();
  for (const variant of variants) {
    const change = changeOf(variant, before);
    if (change === null) continue;
    const { exitCode, output } = await waitfall([
      'report',
      directory,
      '--format',
      'json',
      '--what-if',
      change,
    ]);
    const answer = exitCode === 0 ? (JSON.parse(output) as ReportFile).verdict.whatIf[0] : undefined;
    if (answer) predictions.set(variant, answer);
  }
  return predictions;
}
