/**
 * The analysis behind the `waitfall` command, for programs.
 *
 * ```ts
 * import { analyze, buildReport, readInputs } from 'waitfall';
 *
 * const input = await readInputs(['run/']);
 * const report = buildReport(analyze(input, { toleranceNs: 1_000_000 }));
 * console.log(report.verdict.first?.resource, report.verdict.kneePerSecond);
 * ```
 *
 * @module
 */
export { type Buckets, type QuantileRange, quantileRange } from './aggregate/metric-buckets.ts';
export { type MergeResult, type MetricWindow, mergeHistograms } from './aggregate/metric-histogram.ts';
export type {
  Latency,
  RequestGroup,
  ResourceRow,
  RouteGroup,
  SegmentRow,
  WindowRow,
} from './aggregate/types.ts';
export type { RequestOutcome, ResourceKind, SegmentName } from './classify/types.ts';
export { type Analysis, type AnalyzeOptions, analyze } from './infer/analysis.ts';
export { type Objective, parseObjective } from './infer/objective.ts';
export type { QueueName, Statement, Verdict, VerdictStatus, WhatIf } from './infer/types.ts';
export type { Input, InputFile, Rejected } from './model/input.ts';
export { type ReadOptions, readInputs } from './read/index.ts';
export { type BuildOptions, buildReport } from './report/build.ts';
export { jsonReport } from './report/json.ts';
export { markdownReport, textReport } from './report/render.ts';
export { requestLines } from './report/requests.ts';
export type { TextStyle } from './report/text.ts';
export type { InputSection, Report, SplitSection } from './report/types.ts';
