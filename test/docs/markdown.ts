import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Every page a reader may land on, by path from the root. */
export const PAGES: readonly string[] = [
  ...globSync('*.md', { cwd: ROOT }),
  ...globSync('docs/**/*.md', { cwd: ROOT }),
  ...globSync('{analyzer,instrumentation,sample-app,collector-config}/*.md', { cwd: ROOT }),
  ...globSync('sample-app/examples/**/*.md', { cwd: ROOT }),
]
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !path.includes('node_modules'))
  .sort();

/** A fenced block: ```` ```sh run ```` has the language `sh` and the word `run`. */
export interface Block {
  readonly page: string;
  /** 1-based line of the opening fence. */
  readonly line: number;
  readonly language: string;
  readonly words: readonly string[];
  readonly text: string;
}

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

/** @returns the fenced blocks of a page in their order. */
export function blocksOf(page: string, text = readPage(page)): Block[] {
  const blocks: Block[] = [];
  const lines = text.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const open = /^```(\S*)\s*(.*)$/.exec(lines[i]);
    if (open === null) continue;
    const end = lines.indexOf('```', i + 1);
    const body = lines.slice(i + 1, end);
    const words = [...open[2].matchAll(/[^\s"]+(?:"[^"]*")?/g)].map(([word]) => word);
    blocks.push({
      page,
      line: i + 1,
      language: open[1],
      words,
      text: body.map((line) => `${line}\n`).join(''),
    });
    i = end;
  }
  return blocks;
}

/** @returns what a page points to, with the line it does so on; not what stands in code. */
export function linksOf(page: string, text = readPage(page)): { target: string; line: number }[] {
  const links: { target: string; line: number }[] = [];
  let fenced = false;
  text.split('\n').forEach((line, i) => {
    if (line.startsWith('```')) fenced = !fenced;
    if (fenced) return;
    const prose = line.replaceAll(/`[^`]*`/g, (code) => '_'.repeat(code.length));
    for (const match of prose.matchAll(/\]\(([^)\s]+)\)/g)) links.push({ target: match[1], line: i + 1 });
    for (const match of prose.matchAll(/<img [^>]*src="([^"]+)"/g))
      links.push({ target: match[1], line: i + 1 });
  });
  return links;
}

/** @returns the anchors GitHub gives the headings of a page. */
export function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const match of text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ (.+)$/gm)) {
    const slug = match[1]
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-');
    const n = seen.get(slug) ?? 0;
    seen.set(slug, n + 1);
    anchors.add(n === 0 ? slug : `${slug}-${n}`);
  }
  return anchors;
}

/** @returns the value of `name="value"` behind the fence of a block. */
export function settingOf({ words }: Block, name: string): string | undefined {
  const word = words.find((each) => each.startsWith(`${name}=`));
  return word?.slice(name.length + 1).replaceAll('"', '');
}

/** Replaces what stands in blocks of a page, which are given in their order. */
export function writeBlocks(page: string, replaced: readonly { block: Block; text: string }[]): void {
  const lines = readPage(page).split('\n');
  for (const { block, text } of [...replaced].reverse()) {
    const end = lines.indexOf('```', block.line);
    lines.splice(block.line, end - block.line, ...text.replace(/\n$/, '').split('\n'));
  }
  writeFileSync(join(ROOT, page), lines.join('\n'));
}
