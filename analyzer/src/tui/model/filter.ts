import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import type { Session } from '../session.ts';

export interface Filter {
  /** Tells whether a trace (by index) is kept. */
  readonly keeps: (index: number) => boolean;
  /** What could not be understood, for the message line; empty when all was. */
  readonly error: string;
}

const UNITS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 };
const COMPARISON = /^([a-z_]+)(>=|<=|>|<)(\d+(?:\.\d+)?)(ns|us|µs|ms|s)?$/i;

/**
 * Reads a filter: terms separated by spaces, all of which must hold.
 *
 * `route:`, `service:`, `status:` (success, rejected, timeout, aborted, error), `trace:` (start of an id), `step:`
 * (1-based), `lock_wait>10ms`, `duration>1s` (ms without a unit), anything else as part of route, service or id.
 */
export function parseFilter(text: string, session: Session): Filter {
  const { traces } = session;
  const tests: ((index: number) => boolean)[] = [];
  const errors: string[] = [];
  for (const term of text.trim().split(/\s+/).filter(Boolean)) {
    const comparison = COMPARISON.exec(term);
    if (comparison) {
      const column = columnOf(comparison[1].toLowerCase(), session);
      if (!column) {
        errors.push(`no segment "${comparison[1]}"`);
        continue;
      }
      const limit = Number(comparison[3]) * UNITS[comparison[4]?.toLowerCase() ?? 'ms'];
      tests.push((index) => compare(column[index], comparison[2], limit));
      continue;
    }
    const colon = term.indexOf(':');
    const field = colon > 0 ? term.slice(0, colon).toLowerCase() : '';
    const value = term.slice(colon + 1).toLowerCase();
    if (field === 'route') tests.push(matches(traces.routes, traces.route, value));
    else if (field === 'service') tests.push(matches(traces.services, traces.service, value));
    else if (field === 'status' || field === 'outcome')
      tests.push(matches(traces.outcomes, traces.outcome, value));
    else if (field === 'root') tests.push(matches(traces.kinds, traces.kind, value));
    else if (field === 'trace')
      tests.push(
        (index) => traces.traceIds[index].startsWith(value) || traces.traceIds[index].endsWith(value),
      );
    else if (field === 'step') tests.push(inStep(session, Number(value) - 1));
    else tests.push(anywhere(session, term.toLowerCase()));
  }
  return { keeps: (index) => tests.every((test) => test(index)), error: errors.join('; ') };
}

/** @returns the column a sort or comparison names: `duration` or a segment. */
function columnOf(name: string, session: Session): Float64Array | undefined {
  if (name === 'duration') return session.traces.durationNs;
  const index = (SEGMENTS as readonly string[]).indexOf(name);
  const withSuffix = (SEGMENTS as readonly string[]).indexOf(`${name}_wait`);
  return session.traces.segmentNs[index >= 0 ? index : withSuffix];
}

function compare(value: number, operator: string, limit: number): boolean {
  if (operator === '>') return value > limit;
  if (operator === '<') return value < limit;
  return operator === '>=' ? value >= limit : value <= limit;
}

function matches(
  names: readonly string[],
  column: ArrayLike<number>,
  value: string,
): (index: number) => boolean {
  const wanted = new Set(names.flatMap((name, id) => (name.toLowerCase().includes(value) ? [id] : [])));
  return (index) => wanted.has(column[index]);
}

function inStep(session: Session, step: number): (index: number) => boolean {
  const window = session.report.windows[step];
  if (!window) return () => false;
  const from = Number(window.startUnixNano - session.traces.originUnixNano);
  const to = Number(window.endUnixNano - session.traces.originUnixNano);
  return (index) => session.traces.startNs[index] >= from && session.traces.startNs[index] < to;
}

function anywhere(session: Session, text: string): (index: number) => boolean {
  const { traces } = session;
  const route = matches(traces.routes, traces.route, text);
  const service = matches(traces.services, traces.service, text);
  return (index) => route(index) || service(index) || traces.traceIds[index].startsWith(text);
}
