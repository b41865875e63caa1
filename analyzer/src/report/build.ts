import { type Parts, requestGroup, routeGroups } from '../aggregate/groups.ts';
import { isRoute } from '../aggregate/requests.ts';
import { explains, splitRequests } from '../aggregate/split.ts';
import type { WindowRow } from '../aggregate/types.ts';
import type { Analysis, Answer } from '../infer/analysis.ts';
import type { Statement, Verdict } from '../infer/types.ts';
import { indexesTo } from '../model/ordering.ts';
import type { Forest } from '../tree/types.ts';
import { lateEnds } from './late-ends.ts';
import type { InputSection, Report, SplitSection } from './types.ts';
import { VERSION } from './version.ts';

export interface BuildOptions {
  /**
   * Limits the request tables and the windows' latency to one route, by its whole name or its path alone. Resources
   * and the verdict keep counting every request: the routes share the queues.
   */
  readonly route?: string;
  /** Splits the requests by a span or resource attribute. */
  readonly by?: string;
}

/** The sections that need no queues. */
export type RequestSections = Pick<Report, 'input' | 'requests' | 'routes'>;

/** @returns what was read and its requests, known before queues and verdict are. */
export function requestSections(
  cut: Pick<Answer, 'input' | 'tally' | 'requests' | 'parts' | 'groups'>,
  { route }: BuildOptions,
): RequestSections {
  if (route === undefined && cut.groups !== undefined) {
    return { input: inputSection(cut), requests: cut.groups.all, routes: cut.groups.routes };
  }
  const members = selectRoute(cut, route);
  return {
    input: inputSection(cut),
    requests: requestGroup(cut.requests, cut.parts, members),
    routes: routeGroups(cut.requests, cut.parts, members),
  };
}

/**
 * Makes the report of an analysis: groups its requests and puts every part where the JSON schema expects it.
 * @param sections the first of them, where they have been made before.
 */
export function buildReport(
  analysis: Answer & Partial<Pick<Analysis, 'forest'>>,
  options: BuildOptions = {},
  sections: RequestSections = requestSections(analysis, options),
): Report {
  const { parts } = analysis;
  const members = selectRoute(analysis, options.route);
  const { forest } = analysis;
  if (options.by !== undefined && forest === undefined) throw new Error('a split needs the trees in memory');
  const by = options.by === undefined ? null : splitSection(analysis, forest!, members, options.by);
  return {
    schemaVersion: 1,
    generatedBy: `waitfall ${VERSION}`,
    ...sections,
    windows: options.route === undefined ? analysis.windows : windowsOf(analysis, parts, members),
    resources: analysis.resources,
    recovery: analysis.recovery,
    verdict: withNotes(analysis),
    ...(by === null ? {} : { by }),
  };
}

/** @returns indices of the requests of a route; all of them without one. */
export function selectRoute({ requests }: Pick<Answer, 'requests'>, route: string | undefined): Int32Array {
  const all = indexesTo(requests.count);
  if (route === undefined) return all;
  return all.filter((i) => isRoute(requests.routes[requests.route[i]], route));
}

/** Counts what was read, repaired and refused. */
export function inputSection({ input, tally }: Pick<Answer, 'input' | 'tally'>): InputSection {
  const { trees, trueRoots, counters } = tally;
  return {
    files: input.files.map(({ path, format, bytes, spans, rejected }) => ({
      path,
      format,
      bytes,
      spans,
      rejected,
    })),
    spanRecords: tally.spanRecords,
    spans: tally.spans,
    traces: tally.traces,
    requests: trueRoots > 0 ? trueRoots : trees,
    roots: trueRoots,
    orphanRoots: tally.orphanRoots,
    cycles: counters.cycles,
    duplicates: counters.duplicates,
    conflicts: counters.conflicts,
    quarantined: counters.quarantined,
    quarantinedSubtree: counters.quarantinedSubtree,
    invalidIds: input.invalidIds,
    clamped: counters.clamped,
    adopted: counters.adopted,
    detached: counters.detached,
    detachedNs: counters.detachedNs,
    abandoned: counters.abandoned,
    abandonedNs: counters.abandonedNs,
    skew: counters.skew,
    rejected: input.rejected,
    metrics: {
      metrics: input.metrics.length,
      dataPoints: input.metrics.reduce((sum, metric) => sum + metric.points.length, 0),
    },
    skipped: input.skipped,
  };
}

function splitSection(
  analysis: Answer,
  forest: Forest,
  members: Int32Array,
  attribute: string,
): SplitSection {
  const { parts } = analysis;
  const splits = splitRequests(forest, analysis.requests, members, attribute);
  return {
    attribute,
    values: splits.map(({ value, members: own }) => ({
      value,
      ...requestGroup(analysis.requests, parts, own),
      windows: windowsOf(analysis, parts, own).map(({ startUnixNano, byOutcome, latencyNs }) => ({
        startUnixNano,
        byOutcome,
        latencyNs,
      })),
    })),
    explanation: explains(analysis.requests, members, splits),
  };
}

/** The windows with the latency, outcomes and decomposition of some requests; rates and accounting stay those of all. */
function windowsOf({ windows, requests }: Answer, parts: Parts, members: ArrayLike<number>): WindowRow[] {
  const byWindow: number[][] = windows.map(() => []);
  for (let i = 0; i < members.length; i++) byWindow[requests.window[members[i]]]?.push(members[i]);
  return windows.map((row, w) => {
    const group = requestGroup(requests, parts, byWindow[w]);
    return {
      ...row,
      byOutcome: group.byOutcome,
      latencyNs: group.latencyNs,
      goodLatencyNs: group.goodLatencyNs,
      segments: group.segments,
    };
  });
}

/** Everything that limits the answer stands with the findings: nobody reads two lists. */
function withNotes({ verdict, notes, requests, tally, input }: Answer): Verdict {
  const limits: Statement[] = [...notes, ...lateEnds(tally, input.table.resources)];
  if (requests.substitutes) {
    limits.push({
      id: 'no-true-root',
      text: `No trace has its root in the input: ${requests.count} trees whose parent is missing stand in for requests.`,
      values: { trees: requests.count },
    });
  }
  const known = new Set(verdict.findings.map((finding) => finding.id));
  const added = limits.filter((limit) => !known.has(limit.id));
  return added.length === 0 ? verdict : { ...verdict, findings: [...added, ...verdict.findings] };
}
