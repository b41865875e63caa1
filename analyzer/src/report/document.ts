/**
 * A report as headings, sentences and tables, before it is text or Markdown. Everything a reader decides (what is
 * said, in which order) happens when a document is built; the renderers only lay it out. Text may hold names from the
 * input as they are: each renderer makes them safe for its own medium.
 */
export interface Document {
  readonly sections: readonly Section[];
}

export interface Section {
  /** Empty for the head of the report. */
  readonly title: string;
  readonly blocks: readonly Block[];
}

export type Block =
  /** Sentences: wrapped where the medium is narrow. */
  | { readonly type: 'paragraph'; readonly text: string }
  /** One line whatever the width: the verdict, which scripts look for. */
  | { readonly type: 'line'; readonly text: string }
  | { readonly type: 'list'; readonly items: readonly string[] }
  | Table;

export interface Table {
  readonly type: 'table';
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
  /** Said below the table, each on lines of its own. */
  readonly notes?: readonly string[];
}

export interface Column {
  readonly title: string;
  /** Names on the left, numbers on the right. */
  readonly align: 'left' | 'right';
  /** Left out first where the medium is too narrow: the highest number goes first; 0 or absent stays. */
  readonly spare?: number;
  /** Cells a name keeps before other columns are left out for it. */
  readonly least?: number;
}

export function paragraph(text: string): Block {
  return { type: 'paragraph', text };
}

/** @returns a section, or nothing when it would be empty. */
export function section(title: string, blocks: readonly (Block | null)[]): Section[] {
  const present = blocks.filter((block) => block !== null);
  return present.length === 0 ? [] : [{ title, blocks: present }];
}

/** @returns a list, or nothing when it has no items. */
export function list(items: readonly string[]): Block | null {
  return items.length === 0 ? null : { type: 'list', items };
}
