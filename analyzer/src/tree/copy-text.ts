import type { AttributeValue } from '../model/attributes.ts';
import type { SpanLink } from '../model/span.ts';
import {
  attributes,
  endUnixNano,
  equalAttributes,
  FLAG,
  parentIdText,
  type SpanTable,
  startUnixNano,
} from '../model/span-table.ts';

/** Two copies of a span differ in attributes that were not kept: the input must be read again with all of them. */
export class AllAttributesNeeded extends Error {
  constructor() {
    super('copies of one span differ, and not all of their attributes were kept to tell which one counts');
    this.name = 'AllAttributesNeeded';
  }
}

/**
 * Everything a span record says, as one text that does not depend on the order of its attributes: two records of
 * one id are identical copies exactly when their texts are equal, and the smaller text wins the last tie of rule 1.
 */
export function copyText(table: SpanTable, row: number): string {
  return stableText([
    ...partsBeforeAttributes(table, row),
    attributes(table, row),
    table.attributeRest[row],
    (table.links.get(row) ?? []).map(linkParts),
    (table.events.get(row) ?? []).map((event) => [event.timeUnixNano, event.name, event.attributes]),
  ]);
}

/** Orders two different copies by their texts. @throws {@link AllAttributesNeeded} where what was kept cannot tell. */
export function compareCopyTexts(table: SpanTable, a: number, b: number): number {
  if (table.keptKeys !== null) {
    const [x, y] = [a, b].map((row) => stableText(partsBeforeAttributes(table, row)).replace(/\]$/, ','));
    if (x === y) throw new AllAttributesNeeded();
    return x < y ? -1 : 1;
  }
  return copyText(table, a) < copyText(table, b) ? -1 : 1;
}

function partsBeforeAttributes(table: SpanTable, row: number): unknown[] {
  const flags = table.flags[row];
  const scope = table.scopes[table.scope[row]];
  return [
    flags & FLAG.noEnd ? null : endUnixNano(table, row),
    flags & FLAG.noStart ? null : startUnixNano(table, row),
    table.strings.text(table.name[row]),
    parentIdText(table, row),
    table.kind[row],
    (flags & FLAG.followsFrom) !== 0,
    (flags & FLAG.shared) !== 0,
    table.status[row],
    table.strings.text(table.statusMessage[row]),
    table.strings.text(table.traceState[row]),
    scope === undefined ? null : [scope.name, scope.version],
    table.resources[table.resource[row]]?.attributes,
  ];
}

/** @returns whether two records of one id say the same; settles most pairs without building their texts. */
export function sameCopy(table: SpanTable, a: number, b: number): boolean {
  for (const column of COMPARED) if (table[column][a] !== table[column][b]) return false;
  if (equalAttributes(table, a, b) && !hasMore(table, a) && !hasMore(table, b)) return true;
  return copyText(table, a) === copyText(table, b);
}

const COMPARED = [
  'startSec',
  'startNs',
  'endSec',
  'endNs',
  'name',
  'kind',
  'status',
  'flags',
  'parentHi',
  'parentLo',
  'resource',
  'scope',
  'traceState',
  'statusMessage',
] as const;

function hasMore(table: SpanTable, row: number): boolean {
  return table.links.has(row) || table.events.has(row);
}

function linkParts(link: SpanLink): unknown[] {
  return [link.traceId, link.spanId, link.traceState, link.attributes];
}

/** JSON with sorted keys; attribute values nest only as deep as the input's own JSON. */
function stableText(value: unknown): string {
  return JSON.stringify(value, (_key, v: unknown) => {
    if (typeof v === 'bigint') return `${v}n`;
    if (v instanceof Map) return [...(v as Map<string, AttributeValue>)].sort(byKey);
    if (v !== null && typeof v === 'object' && !Array.isArray(v)) return Object.entries(v).sort(byKey);
    return v;
  });
}

function byKey(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
}
