import { requestGroup } from '../aggregate/groups.ts';
import { splitRequests } from '../aggregate/split.ts';
import { type Analysis, type AnalyzeOptions, analyze } from '../infer/analysis.ts';
import type { Report } from '../report/types.ts';
import { openTrace, spanDetail } from './open-trace.ts';
import type { ComparedWith, Session } from './session.ts';
import { listTraces, type TraceList } from './trace-columns.ts';
import { waitsOf } from './waits.ts';

/** Answers the screens from an analysis in the same process (in production: inside the analysis worker). */
export function buildSession(
  analysis: Analysis,
  report: Report,
  title: string,
  options: AnalyzeOptions,
  comparison?: ComparedWith,
  { traces, order, indexOfTree }: TraceList = listTraces(analysis),
): Session {
  return {
    title,
    stage: 'complete',
    progress: null,
    report,
    traces,
    ...(comparison ? { comparison } : {}),
    trace: async (index) => openTrace(analysis, traces, order[index], index, indexOfTree),
    span: async (row) => spanDetail(analysis, row),
    waits: async (resource, limit) => waitsOf(analysis, resource, limit, indexOfTree),
    whatIf: async (change) => {
      const { verdict } = analyze(analysis.input, { ...options, whatIf: [change] });
      const answer = verdict.whatIf.find((known) => known.change === change) ?? verdict.whatIf[0];
      if (!answer) throw new Error(`no prediction for ${change}: nothing is known about that queue`);
      return answer;
    },
    step: async (window) => {
      const { requests, parts } = analysis;
      const members = Int32Array.from(requests.window.keys()).filter((i) => requests.window[i] === window);
      return requestGroup(requests, parts, members);
    },
    split: async (attribute) => {
      const { forest, requests, parts } = analysis;
      const members = Int32Array.from({ length: requests.count }, (_, index) => index);
      return splitRequests(forest, requests, members, attribute).map((part) => ({
        value: part.value ?? '(none)',
        group: requestGroup(requests, parts, part.members),
      }));
    },
  };
}
