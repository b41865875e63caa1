import type { SharedParts } from './shared-parts.ts';
import type { SpanTable } from './span-table.ts';

/** The spans of an input in parts: every trace lies wholly in one of them. All tables share texts, resources and scopes. */
export interface TableParts {
  readonly count: number;
  /** Of all parts. */
  readonly rows: number;
  /** A table with all that the parts share; its rows, if it has any, are nobody's business. */
  readonly common: SpanTable;
  /** @returns rows of one part. */
  rowsOf(part: number): number;
  /** @returns the table of one part: gone when the next one is loaded. */
  load(part: number): SpanTable;
  /** @returns one table of all parts. */
  whole(): SpanTable;
  /** @returns what another thread can open, while these are not closed; null: nothing. */
  share(): SharedParts | null;
  /** Lets go of what the parts are kept in. */
  close(): void;
}
