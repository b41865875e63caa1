import { existsSync, writeFileSync } from 'node:fs';
import { jsonReport } from '../report/json.ts';
import { layOut } from '../report/layout.ts';
import { renderMarkdown } from '../report/markdown.ts';
import type { Report } from '../report/types.ts';

/** Writes the report beside the reader: Markdown from the verdict, JSON from every other view. @returns the file's name. */
export function save(report: Report, view: string): string {
  const extension = view === 'verdict' || view === 'confidence' ? 'md' : 'json';
  const text = extension === 'md' ? renderMarkdown(layOut(report)) : jsonReport(report);
  let name = `waitfall-${view}.${extension}`;
  for (let n = 2; existsSync(name); n++) name = `waitfall-${view}-${n}.${extension}`;
  writeFileSync(name, text);
  return name;
}
