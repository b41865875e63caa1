import type { Block, Document, Table } from './document.ts';
import { clean } from './width.ts';

/** Renders a document as GitHub-flavoured Markdown; nothing of the input is taken for markup. */
export function renderMarkdown(document: Document, heading = 'Waitfall report'): string {
  const out: string[] = [];
  for (const { title, blocks } of document.sections) {
    out.push(title === '' ? `# ${heading}` : `## ${literal(title)}`);
    for (const block of blocks) out.push(...render(block));
  }
  return `${out.join('\n\n')}\n`;
}

function render(block: Block): string[] {
  switch (block.type) {
    case 'line':
      return [`**${literal(block.text)}**`];
    case 'paragraph':
      return [literal(block.text)];
    case 'list':
      return [block.items.map((item) => `- ${literal(item)}`).join('\n')];
    case 'table':
      return table(block);
  }
}

function table({ columns, rows, notes = [] }: Table): string[] {
  const used = columns.map((_, c) => c).filter((c) => rows.some((row) => row[c] !== ''));
  const line = (cells: readonly string[]) => `| ${used.map((c) => literal(cells[c])).join(' | ')} |`;
  const rule = `| ${used.map((c) => (columns[c].align === 'right' ? '---:' : '---')).join(' | ')} |`;
  const text = [line(columns.map((column) => column.title)), rule, ...rows.map(line)].join('\n');
  return [text, ...notes.map(literal)];
}

/** Makes text literal: control characters replaced, everything Markdown or HTML could read as markup escaped. */
function literal(text: string): string {
  return clean(text)
    .replace(/[\\`*[\]|~#]/g, (sign) => `\\${sign}`)
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_');
}
