import {
  ATTR_BLOCKER_AGE_NS,
  ATTR_BLOCKER_STATE,
  ATTR_BLOCKER_STATEMENT,
  ATTR_HOLD_DURATION_NS,
  ATTR_LINK,
  LINK_BLOCKED_BY,
} from '@waitfall/instrumentation/conventions';
import type { Analysis } from '../infer/analysis.ts';
import { attribute, spanIdText } from '../model/span-table.ts';
import type { Blocker } from './session.ts';

/** @returns who held a waiting span up, by its `blocked_by` links, the last holder first. */
export function blockersOf(analysis: Analysis, row: number, indexOfTree: Int32Array): Blocker[] {
  const { table } = analysis.forest;
  const links = table.links.get(row);
  if (!links) return [];
  const out: Blocker[] = [];
  for (const link of links) {
    if (link.attributes.get(ATTR_LINK) !== LINK_BLOCKED_BY) continue;
    const target = findSpan(analysis, link.traceId, link.spanId);
    const tree = target < 0 ? -1 : analysis.forest.treeOf[target];
    out.push({
      traceId: link.traceId,
      spanId: link.spanId,
      trace: tree < 0 ? -1 : indexOfTree[tree],
      row: target,
      name: target < 0 ? '' : table.strings.text(table.name[target]),
      statement: out.length === 0 ? text(attribute(table, row, ATTR_BLOCKER_STATEMENT)) : '',
      state: out.length === 0 ? text(attribute(table, row, ATTR_BLOCKER_STATE)) : '',
      ageNs: out.length === 0 ? number(attribute(table, row, ATTR_BLOCKER_AGE_NS)) : null,
      heldNs: target < 0 ? null : number(attribute(table, target, ATTR_HOLD_DURATION_NS)),
    });
  }
  return out;
}

const INDEXES = new WeakMap<Analysis, ReadonlyMap<string, number>>();

/** Only spans that a link points to are looked up, so only those are indexed. */
function findSpan(analysis: Analysis, traceId: string, spanId: string): number {
  let index = INDEXES.get(analysis);
  if (!index) {
    const { table } = analysis.forest;
    const wanted = new Set<string>();
    for (const links of table.links.values())
      for (const link of links) wanted.add(`${link.traceId} ${link.spanId}`);
    const traces = new Set([...wanted].map((key) => key.slice(0, key.indexOf(' '))));
    const found = new Map<string, number>();
    for (let row = 0; row < table.length; row++) {
      const trace = table.traceIds[table.trace[row]];
      if (!traces.has(trace)) continue;
      const key = `${trace} ${spanIdText(table, row)}`;
      if (wanted.has(key) && !found.has(key)) found.set(key, row);
    }
    index = found;
    INDEXES.set(analysis, index);
  }
  return index.get(`${traceId} ${spanId}`) ?? -1;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function number(value: unknown): number | null {
  return typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : null;
}
