import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXIT, errors } from '../errors.ts';
import { planSetUp, variablesOf } from '../init/plan.ts';
import { type Project, readProject } from '../init/project.ts';
import { textStyle } from '../options.ts';
import { write } from '../output.ts';

export interface InitFlags {
  readonly write?: boolean;
  readonly format: 'text' | 'json';
  readonly color: boolean;
  readonly ascii?: boolean;
}

const SCRIPT = 'start:waitfall';

/** `waitfall init`: how to instrument the project in a folder. @returns the exit code. */
export async function initCommand(folder: string, flags: InitFlags): Promise<number> {
  const project = readProject(resolve(folder));
  const setUp = planSetUp(project);
  if (flags.format === 'json') {
    await write([`${JSON.stringify({ project, setUp }, null, 2)}\n`], undefined);
  } else {
    const { setUpText } = await import('../init/lay-out.ts');
    await write([setUpText(project, setUp, textStyle(flags))], undefined);
  }
  if (flags.write) process.stderr.write(`waitfall: ${addScript(project, setUp.script)}\n`);
  return EXIT.answered;
}

/** Adds the script, keeping the file's indentation and everything else. @returns what was done. */
function addScript({ folder, name, scripts }: Project, command: string | null): string {
  if (command === null) throw errors.nothingToWrite();
  const path = join(folder, 'package.json');
  if (scripts[SCRIPT] !== undefined) return `${path} has a script ${SCRIPT} already; left as it is`;
  const text = readFileSync(path, 'utf8');
  const manifest = JSON.parse(text) as Record<string, unknown>;
  // cmd.exe cannot set a variable before a command; there it has to be set outside.
  const variables = process.platform === 'win32' ? [] : variablesOf(name);
  const prefix = variables.map(([variable, value]) => `${variable}=${value} `).join('');
  manifest['scripts'] = { ...scripts, [SCRIPT]: `${prefix}${command}` };
  const indent = /^\{\r?\n([ \t]+)/.exec(text)?.[1] ?? 2;
  try {
    writeFileSync(path, `${JSON.stringify(manifest, null, indent)}${text.endsWith('\n') ? '\n' : ''}`);
  } catch (error) {
    throw errors.unwritable(path, (error as Error).message);
  }
  return `added the script ${SCRIPT} to ${path}`;
}
