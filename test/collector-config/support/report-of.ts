import { type AnalyzeOptions, analyze } from '../../../analyzer/src/infer/analysis.ts';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { toJson } from '../../../analyzer/src/report/json.ts';
import type { Report } from '../../../analyzer/src/report/types.ts';

/** The report of an input, as `waitfall report` makes it. */
export function reportOf(input: Input, options: AnalyzeOptions = {}): Report {
  return buildReport(analyze(input, options), {});
}

/** A report as JSON without its input section, which names files and formats. */
export function findingsAsJson(report: Report): string {
  return toJson({ ...report, input: null }, 1);
}
