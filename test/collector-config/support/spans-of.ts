import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Input } from '../../../analyzer/src/model/input.ts';
import {
  attributes,
  endUnixNano,
  parentIdText,
  type SpanTable,
  spanIdText,
  startUnixNano,
} from '../../../analyzer/src/model/span-table.ts';

/** A folder of a test's own, gone after it. */
export function testFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'waitfall-collector-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function subfolder(folder: string, name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

/** Everything an input says about its spans as text, one line a span, in an order of its own: equal inputs, equal text. */
export function spansAsText(input: Input): string[] {
  const { table } = input;
  return Array.from({ length: table.length }, (_, row) => spanAsText(table, row)).sort();
}

function spanAsText(table: SpanTable, row: number): string {
  const resource = table.resources[table.resource[row]];
  const scope = table.scopes[table.scope[row]];
  return JSON.stringify(
    [
      table.traceIds[table.trace[row]],
      spanIdText(table, row),
      parentIdText(table, row),
      table.strings.text(table.name[row]),
      table.kind[row],
      String(startUnixNano(table, row)),
      String(endUnixNano(table, row)),
      table.status[row],
      table.strings.text(table.statusMessage[row]),
      table.strings.text(table.traceState[row]),
      [...resource.attributes].sort(),
      [scope.name, scope.version],
      [...attributes(table, row)].sort(),
      (table.links.get(row) ?? []).map((link) => ({ ...link, attributes: [...link.attributes] })),
      (table.events.get(row) ?? []).map((event) => ({ ...event, attributes: [...event.attributes] })),
    ],
    (_key, value) => (typeof value === 'bigint' ? `${value}n` : value),
  );
}

/** Span count by trace id. */
export function spansByTrace(input: Input): Map<string, number> {
  const counts = new Map<string, number>();
  for (let row = 0; row < input.table.length; row++) {
    const id = input.table.traceIds[input.table.trace[row]];
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}
