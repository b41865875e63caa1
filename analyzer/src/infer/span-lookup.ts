import { ATTR_BLOCKER_STATEMENT, ATTR_LINK, LINK_BLOCKED_BY } from '@waitfall/instrumentation/conventions';
import type { Requests } from '../aggregate/requests-types.ts';
import { AttributeReader } from '../model/attribute-reader.ts';
import { type SpanTable, spanIdText } from '../model/span-table.ts';
import type { Forest } from '../tree/types.ts';

export interface SpanRef {
  readonly traceId: string;
  readonly spanId: string;
}

/** What single spans are named by evidence, and who held them up as far as they say so themselves. */
export interface SpanDetails {
  readonly ref: SpanRef;
  /** Target of the span's first `blocked_by` link. */
  readonly blockedBy: SpanRef | null;
  /** What the holder was doing; empty where nobody says. */
  readonly blockerStatement: string;
}

/** Finds a few spans again by their rows, wherever the input is kept. */
export interface SpanLookup {
  details(rows: readonly number[]): ReadonlyMap<number, SpanDetails>;
  /** @returns the route of the requests of some traces, by trace id; traces without a request are left out. */
  routes(traceIds: ReadonlySet<string>): ReadonlyMap<string, string>;
}

/** @returns details of rows of a table. */
export function detailsIn(table: SpanTable, rows: readonly number[]): Map<number, SpanDetails> {
  const statement = new AttributeReader(table, ATTR_BLOCKER_STATEMENT);
  return new Map(
    rows.map((row) => {
      const links = table.links.get(row) ?? [];
      const link = links.find((one) => one.attributes.get(ATTR_LINK) === LINK_BLOCKED_BY);
      const details: SpanDetails = {
        ref: { traceId: table.traceIds[table.trace[row]], spanId: spanIdText(table, row) },
        blockedBy: link ? { traceId: link.traceId, spanId: link.spanId } : null,
        blockerStatement: statement.text(row),
      };
      return [row, details];
    }),
  );
}

/** @returns the look-up of an input whose trees are all in memory. */
export function lookupIn({ table, trees }: Forest, requests: Requests): SpanLookup {
  return {
    details: (rows) => detailsIn(table, rows),
    routes(traceIds) {
      const routes = new Map<string, string>();
      for (let i = 0; i < requests.count; i++) {
        const { root } = trees[requests.tree[i]];
        const id = table.traceIds[table.trace[root]];
        if (traceIds.has(id)) routes.set(id, requests.routes[requests.route[i]]);
      }
      return routes;
    },
  };
}
