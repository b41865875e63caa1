import { parseArgs } from 'node:util';
import type { Children } from '../run/children.ts';
import { runCommand, UsageError } from '../run/command.ts';

export interface LabOptions {
  /** Folder that the run directories are made in. */
  readonly runs: string;
  readonly short: boolean;
}

/** Runs a lab as a command and ends the process. @param says what the lab is about, for `--help`. */
export function runLab(
  says: string,
  lab: (children: Children, options: LabOptions) => Promise<boolean>,
): Promise<never> {
  return runCommand(async ({ children }) => {
    const { help, short, out } = read();
    if (!help) return lab(children, { short, runs: out });
    process.stdout.write(`${says}

  --short    the short form, for continuous integration
  --out DIR  where the run directories are made (default: runs)
  --help     this text
`);
    return true;
  });
}

function read(): { help: boolean; short: boolean; out: string } {
  try {
    const { values } = parseArgs({
      options: {
        short: { type: 'boolean', default: false },
        out: { type: 'string', default: 'runs' },
        help: { type: 'boolean', default: false },
      },
    });
    return values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
