import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import type { SegmentName } from '../../classify/types.ts';
import type { Session } from '../session.ts';
import { parseFilter } from './filter.ts';

/** A column the list of traces can be sorted by. */
export interface SortColumn {
  readonly name: 'duration' | 'start' | SegmentName;
  readonly values: Float64Array;
}

/** @returns duration, start, then every segment that owns time in any trace. */
export function sortColumns(session: Session): readonly SortColumn[] {
  let columns = SORTS.get(session);
  if (!columns) {
    columns = [
      { name: 'duration', values: session.traces.durationNs },
      { name: 'start', values: session.traces.startNs },
      ...SEGMENTS.flatMap((name, index): SortColumn[] => {
        const values = session.traces.segmentNs[index];
        return values.some((value) => value > 0) ? [{ name, values }] : [];
      }),
    ];
    SORTS.set(session, columns);
  }
  return columns;
}

const SORTS = new WeakMap<Session, readonly SortColumn[]>();

export interface TraceOrder {
  /** Indexes of the traces shown, in order. */
  readonly order: Int32Array;
  readonly error: string;
}

/** Longest first by default; start counts upwards. Ties keep the order of the input. */
export function orderTraces(session: Session, filter: string, sort: number, reverse: boolean): TraceOrder {
  const key = `${sort} ${reverse} ${filter}`;
  const last = ORDERS.get(session);
  if (last?.key === key) return last.value;
  const { keeps, error } = parseFilter(filter, session);
  const columns = sortColumns(session);
  const { name, values } = columns[sort % columns.length];
  const kept: number[] = [];
  for (let index = 0; index < session.traces.count; index++) if (keeps(index)) kept.push(index);
  const order = Int32Array.from(kept);
  const sign = (name === 'start') === reverse ? -1 : 1;
  order.sort((a, b) => sign * (values[a] - values[b]) || a - b);
  const value = { order, error };
  ORDERS.set(session, { key, value });
  return value;
}

const ORDERS = new WeakMap<Session, { key: string; value: TraceOrder }>();
