import {
  ATTR_ESTIMATE_MAX_NS,
  ATTR_ESTIMATE_MIN_NS,
  ATTR_ESTIMATED,
  ATTR_HOLD_DURATION_NS,
  ATTR_LINK,
  ATTR_RESOURCE_QUEUE_DEPTH,
  SEGMENTS,
} from '@waitfall/instrumentation/conventions';
import type { Analysis } from '../infer/analysis.ts';
import type { AttributeValue } from '../model/attributes.ts';
import { STATUS } from '../model/span.ts';
import { attribute, attributes, spanIdText, startUnixNano } from '../model/span-table.ts';
import { piecesOf } from '../partition/pieces.ts';
import { STATE } from '../tree/types.ts';
import { blockersOf } from './blockers.ts';
import type { SpanDetail, TraceColumns, TraceDetail, TraceRow } from './session.ts';

/** Builds what the trace screen shows of one tree. */
export function openTrace(
  analysis: Analysis,
  traces: TraceColumns,
  treeIndex: number,
  index: number,
  indexOfTree: Int32Array,
): TraceDetail {
  const { forest, partition } = analysis;
  const { table } = forest;
  const tree = forest.trees[treeIndex];
  const duration = forest.end[tree.root] - forest.start[tree.root];
  const owned = new Map<number, [number, number][]>();
  const pieces = piecesOf(forest, partition, tree);
  for (const { row, start, end } of pieces) {
    const list = owned.get(row);
    if (list) list.push([start, end]);
    else owned.set(row, [[start, end]]);
  }
  const sequence = inOrder(analysis, treeIndex);
  const position = new Map(sequence.map(({ row }, at) => [row, at]));
  const rows = sequence.map(({ row, depth }): TraceRow => {
    const detached = forest.state[row] === STATE.detached;
    const clip = (value: number): number => (detached ? value : Math.max(0, Math.min(duration, value)));
    const parent = forest.parent[row];
    const resource = analysis.classes.resource[row];
    return {
      row,
      spanId: spanIdText(table, row),
      name: table.strings.text(table.name[row]),
      service: serviceOf(analysis, row),
      depth,
      parent: detached && forest.state[parent] !== STATE.detached ? -1 : (position.get(parent) ?? -1),
      startNs: clip(forest.start[row]),
      endNs: clip(detached ? forest.recordedEnd[row] : forest.end[row]),
      ownedNs: partition.owned[row],
      owned: owned.get(row) ?? [],
      segment: SEGMENTS[analysis.classes.segment[row]],
      resource: resource < 0 ? null : analysis.classes.resources[resource],
      error: table.status[row] === STATUS.error,
      detached,
      estimated: attribute(table, row, ATTR_ESTIMATED) === true,
      estimateMinNs: numberOf(attribute(table, row, ATTR_ESTIMATE_MIN_NS)),
      estimateMaxNs: numberOf(attribute(table, row, ATTR_ESTIMATE_MAX_NS)),
      heldNs: numberOf(attribute(table, row, ATTR_HOLD_DURATION_NS)),
      queueDepth: numberOf(attribute(table, row, ATTR_RESOURCE_QUEUE_DEPTH)),
      blockers: blockersOf(analysis, row, indexOfTree),
    };
  });
  const status =
    attribute(table, tree.root, 'http.response.status_code') ??
    attribute(table, tree.root, 'http.status_code');
  return {
    index,
    traceId: traces.traceIds[index],
    route: traces.routes[traces.route[index]],
    service: serviceOf(analysis, tree.root),
    outcome: traces.outcomes[traces.outcome[index]],
    kind: tree.kind,
    status: status === undefined ? '' : String(status),
    startUnixNano: startUnixNano(table, tree.root),
    durationNs: duration,
    rows,
    otherParts: traces.traceIds.flatMap((id, other) =>
      other !== index && id === traces.traceIds[index] ? [other] : [],
    ),
    pieces: pieces.map(({ row, start, end }) => ({ row: position.get(row)!, startNs: start, endNs: end })),
  };
}

/** Parents before children, siblings by start; detached spans after the tree, each with its own subtree. */
function inOrder({ forest }: Analysis, treeIndex: number): { row: number; depth: number }[] {
  const tree = forest.trees[treeIndex];
  const children = new Map<number, number[]>();
  const add = (parent: number, row: number): void => {
    const list = children.get(parent);
    if (list) list.push(row);
    else children.set(parent, [row]);
  };
  for (let i = tree.first + 1; i < tree.first + tree.count; i++)
    add(forest.parent[forest.order[i]], forest.order[i]);
  const detachedRoots: number[] = [];
  for (let row = 0; row < forest.table.length; row++) {
    if (forest.state[row] !== STATE.detached || forest.treeOf[row] !== treeIndex) continue;
    const parent = forest.parent[row];
    if (parent >= 0 && forest.state[parent] === STATE.detached) add(parent, row);
    else detachedRoots.push(row);
  }
  const byStart = (a: number, b: number): number =>
    forest.start[a] - forest.start[b] || forest.end[b] - forest.end[a] || a - b;
  for (const list of children.values()) list.sort(byStart);
  const out: { row: number; depth: number }[] = [];
  for (const root of [tree.root, ...detachedRoots.sort(byStart)]) {
    const stack = [{ row: root, depth: root === tree.root ? 0 : 1 }];
    for (let next = stack.pop(); next; next = stack.pop()) {
      out.push(next);
      const below = children.get(next.row) ?? [];
      for (let i = below.length - 1; i >= 0; i--) stack.push({ row: below[i], depth: next.depth + 1 });
    }
  }
  return out;
}

/** Reads what the waterfall leaves out. */
export function spanDetail({ forest }: Analysis, row: number): SpanDetail {
  const { table } = forest;
  const start = startUnixNano(table, row);
  return {
    attributes: [...attributes(table, row)].map(([key, value]) => [key, textOf(value)] as const),
    events: (table.events.get(row) ?? []).map((event) => ({
      name: event.name,
      offsetNs: event.timeUnixNano === null ? null : Number(event.timeUnixNano - start),
    })),
    links: (table.links.get(row) ?? []).map((link) => ({
      traceId: link.traceId,
      spanId: link.spanId,
      meaning: textOf(link.attributes.get(ATTR_LINK) ?? ''),
    })),
    scope: [table.scopes[table.scope[row]]?.name, table.scopes[table.scope[row]]?.version]
      .filter(Boolean)
      .join(' '),
    statusMessage: table.strings.text(table.statusMessage[row]),
  };
}

function serviceOf({ forest: { table } }: Analysis, row: number): string {
  return table.resources[table.resource[row]]?.service ?? '';
}

function numberOf(value: AttributeValue | undefined): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'bigint' ? Number(value) : null;
}

/** The screen shows one line of a value; the whole of it is in the input. */
const MOST_CHARACTERS = 400;

function textOf(value: AttributeValue): string {
  const text =
    typeof value === 'string'
      ? value
      : JSON.stringify(value, (_key, v) => (typeof v === 'bigint' ? String(v) : v));
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
}
