import type { SpanTable } from './span-table.ts';

/** The spans of an input in parts: every trace lies wholly in one of them. All tables share texts, resources and scopes. */
export interface TableParts {
  readonly count: number;
  /** Of all parts. */
  readonly rows: number;
  /** @returns the table of one part: gone when the next one is loaded. */
  load(part: number): SpanTable;
  /** @returns one table of all parts. */
  whole(): SpanTable;
  /** Lets go of what the parts are kept in. */
  close(): void;
}
