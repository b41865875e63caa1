import { existsSync, writeFileSync } from 'node:fs';
import { jsonReport, toJson } from '../report/json.ts';
import { layOut } from '../report/layout.ts';
import { renderMarkdown } from '../report/markdown.ts';
import type { Session } from './session.ts';
import type { View } from './state.ts';

/**
 * Writes what a view shows into the current directory: the report as Markdown from the verdict, the opened trace with
 * all attributes as JSON, the whole report as JSON from every other view. @returns the file's name.
 */
export async function save(session: Session, view: View, trace: number): Promise<string> {
  const [name, text] = await content(session, view, trace);
  const [stem, extension] = name;
  let path = `${stem}.${extension}`;
  for (let n = 2; existsSync(path); n++) path = `${stem}-${n}.${extension}`;
  writeFileSync(path, text);
  return path;
}

async function content(
  session: Session,
  view: View,
  trace: number,
): Promise<[name: readonly [stem: string, extension: string], text: string]> {
  if (view === 'trace') {
    const detail = await session.trace(trace);
    const spans = await Promise.all(
      detail.rows.map(async (row) => ({ ...row, ...(await session.span(row.row)) })),
    );
    return [
      [`waitfall-trace-${detail.traceId.slice(0, 8)}`, 'json'],
      `${toJson({ ...detail, rows: spans }, 2)}\n`,
    ];
  }
  if (view === 'verdict' || view === 'confidence')
    return [[`waitfall-${view}`, 'md'], renderMarkdown(layOut(session.report))];
  return [[`waitfall-${view}`, 'json'], jsonReport(session.report)];
}
