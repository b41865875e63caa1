import { existsSync, writeFileSync } from 'node:fs';
import { savedView } from './model/saved.ts';
import type { Session } from './session.ts';
import type { Frame } from './state.ts';

/** Writes what a view shows into the current directory, beside what is there already. @returns the file's name. */
export async function save(session: Session, frame: Frame, step: number): Promise<string> {
  const { stem, extension, text } = await savedView(session, frame, step);
  let path = `${stem}.${extension}`;
  for (let n = 2; existsSync(path); n++) path = `${stem}-${n}.${extension}`;
  writeFileSync(path, text);
  return path;
}
