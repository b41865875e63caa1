import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLMap } from 'yaml';
import type { AttributeValue } from '../model/attributes.ts';
import { attributeById, attributeKey, type SpanTable } from '../model/span-table.ts';
import type { SegmentName } from './types.ts';

/** One rule of a rules file: all conditions that are given must hold. */
export interface Rule {
  /** Span name and scope name; `*` stands for any text. null: any. */
  readonly name: RegExp | null;
  readonly scope: RegExp | null;
  /** Attribute key to the pattern its value must match, as text; the span's own attributes, then its resource's. */
  readonly attributes: readonly (readonly [string, RegExp])[];
  readonly segment: SegmentName;
  /** `{key}` in it is replaced by that attribute; empty: no resource. */
  readonly resource: string;
}

/** A rules file, ready to be applied to a table. */
export interface Rules {
  readonly rules: readonly Rule[];
  /** Keys of all attributes the rules look at. */
  readonly attributes: readonly string[];
  /** @returns for a row the segment and resource of the first rule that matches, undefined when none does. */
  reader(table: SpanTable): (row: number) => { segment: SegmentName; resource: string } | undefined;
}

/** Something in a rules file that cannot be used; the message names the line. */
export class RulesError extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(`line ${line}: ${message}`);
    this.name = 'RulesError';
    this.line = line;
  }
}

/**
 * Reads a rules file:
 *
 * ```yaml
 * rules:
 *   - name: acquire *            # span name, `*` = any text
 *     scope: my-pool             # instrumentation scope
 *     attribute: { db.system: postgresql }
 *     segment: pool_wait
 *     resource: my-pool:{db.namespace}
 * ```
 *
 * Each rule needs `segment` and at least one condition. @throws {@link RulesError} naming the line.
 */
export function loadRules(yamlText: string): Rules {
  const lines = new LineCounter();
  const document = parseDocument(yamlText, { lineCounter: lines });
  const broken = document.errors[0];
  if (broken !== undefined) {
    throw new RulesError(lines.linePos(broken.pos[0]).line, broken.message.split('\n')[0]);
  }
  const at: LineOf = (node) => (node?.range ? lines.linePos(node.range[0]).line : 1);
  const top = document.contents;
  const list = isMap(top) ? (top.get('rules', true) as Node | undefined) : top;
  if (!isSeq(list)) throw new RulesError(at(top), 'expected a list under `rules:`');
  return rulesOf(list.items.map((item) => readRule(item as Node, at)));
}

/** @returns rules as they are applied to a table. */
export function rulesOf(rules: readonly Rule[]): Rules {
  const attributes = rules.flatMap((rule) => [
    ...rule.attributes.map(([key]) => key),
    ...Array.from(rule.resource.matchAll(IN_BRACES), ([, key]) => key),
  ]);
  return { rules, attributes, reader: (table) => readerOf(rules, table) };
}

/** An attribute in the name of a resource. */
const IN_BRACES = /\{([^}]+)\}/g;

type LineOf = (node: Node | null | undefined) => number;

const KEYS = ['name', 'scope', 'attribute', 'segment', 'resource'];

function readRule(node: Node, at: LineOf): Rule {
  if (!isMap(node)) throw new RulesError(at(node), 'a rule must be a mapping with `segment` and a condition');
  for (const { key } of node.items) {
    const name = String(isScalar(key) ? key.value : key);
    if (!KEYS.includes(name)) {
      throw new RulesError(at(key as Node), `unknown key \`${name}\`; a rule has ${KEYS.join(', ')}`);
    }
  }
  const segment = textOf(node, 'segment', at);
  if (segment === null) throw new RulesError(at(node), 'a rule needs `segment`');
  if (!(SEGMENTS as readonly string[]).includes(segment)) {
    const line = at(node.get('segment', true) as Node);
    throw new RulesError(line, `unknown segment \`${segment}\`; expected one of ${SEGMENTS.join(', ')}`);
  }
  const name = textOf(node, 'name', at);
  const scope = textOf(node, 'scope', at);
  const attributes = readAttributes(node.get('attribute', true) as Node | undefined, at);
  if (name === null && scope === null && attributes.length === 0) {
    throw new RulesError(at(node), 'a rule needs at least one of `name`, `scope`, `attribute`');
  }
  return {
    name: name === null ? null : pattern(name),
    scope: scope === null ? null : pattern(scope),
    attributes,
    segment: segment as SegmentName,
    resource: textOf(node, 'resource', at) ?? '',
  };
}

/** `{key: value, …}`, or a key alone: the attribute is there. */
function readAttributes(node: Node | undefined, at: LineOf): (readonly [string, RegExp])[] {
  if (node === undefined || node === null) return [];
  if (isScalar(node) && typeof node.value === 'string') return [[node.value, pattern('*')]];
  if (!isMap(node)) {
    throw new RulesError(at(node), '`attribute` must be a mapping of key to value, or one key');
  }
  return node.items.map(({ key, value }) => {
    if (!isScalar(key) || !isScalar(value) || typeof value.value === 'object') {
      throw new RulesError(at(key as Node), '`attribute` values must be text, numbers or booleans');
    }
    return [String(key.value), pattern(String(value.value))] as const;
  });
}

function textOf(map: YAMLMap, key: string, at: LineOf): string | null {
  const node = map.get(key, true) as Node | undefined;
  if (node === undefined || node === null) return null;
  if (!isScalar(node) || typeof node.value !== 'string' || node.value === '') {
    throw new RulesError(at(node), `\`${key}\` must be a non-empty text`);
  }
  return node.value;
}

function pattern(text: string): RegExp {
  const parts = text.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}

function readerOf(rules: readonly Rule[], table: SpanTable): ReturnType<Rules['reader']> {
  const value = (row: number, key: string): string | undefined => {
    const id = attributeKey(table, key);
    const own = id < 0 ? undefined : attributeById(table, row, id);
    return asText(own ?? table.resources[table.resource[row]].attributes.get(key));
  };
  return (row) => {
    const name = table.strings.text(table.name[row]);
    const scope = table.scopes[table.scope[row]]?.name ?? '';
    const rule = rules.find(
      (candidate) =>
        (candidate.name === null || candidate.name.test(name)) &&
        (candidate.scope === null || candidate.scope.test(scope)) &&
        candidate.attributes.every(([key, wanted]) => {
          const found = value(row, key);
          return found !== undefined && wanted.test(found);
        }),
    );
    if (rule === undefined) return undefined;
    const resource = rule.resource.replace(IN_BRACES, (_all, key: string) => value(row, key) ?? 'unknown');
    return { segment: rule.segment, resource };
  };
}

function asText(value: AttributeValue | undefined): string | undefined {
  if (value === undefined || value === null || typeof value === 'object') return undefined;
  return String(value);
}
