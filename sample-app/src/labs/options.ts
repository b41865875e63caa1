import { parseArgs } from 'node:util';
import { type Running, runCommand, UsageError } from '../run/command.ts';

export interface LabOptions {
  /** Folder that the run directories are made in. */
  readonly runs: string;
  readonly short: boolean;
  /** How long each step lasts instead of its own time; null: its own time. */
  readonly seconds: number | null;
}

/** Runs a lab as a command and ends the process. @param says what the lab is about, for `--help`. */
export function runLab(
  says: string,
  lab: (running: Running, options: LabOptions) => Promise<boolean>,
): Promise<never> {
  return runCommand(async (running) => {
    const { help, short, seconds, out } = read();
    if (!help) return lab(running, { short, seconds, runs: out });
    process.stdout.write(`${says}

  --short      the short form, for continuous integration
  --seconds N  how long each step lasts, to look at the flow: too short for its numbers to mean much
  --out DIR    where the run directories are made (default: runs)
  --help       this text
`);
    return true;
  });
}

function read(): { help: boolean; short: boolean; seconds: number | null; out: string } {
  try {
    const { values } = parseArgs({
      options: {
        short: { type: 'boolean', default: false },
        seconds: { type: 'string' },
        out: { type: 'string', default: 'runs' },
        help: { type: 'boolean', default: false },
      },
    });
    const seconds = values.seconds === undefined ? null : Number(values.seconds);
    if (seconds !== null && !(seconds > 0 && seconds <= 60))
      throw new Error(`--seconds takes a number above 0, 60 at most, not ${values.seconds}`);
    return { ...values, seconds };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
