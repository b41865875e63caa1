import type { CommonFlags } from '../options.ts';
import { reportCommand } from './report.ts';

/** `waitfall [inputs…]`: the terminal UI on a terminal, the text report elsewhere. @returns the exit code. */
export async function viewCommand(inputs: readonly string[], flags: CommonFlags): Promise<number> {
  return reportCommand(inputs, { ...flags, format: 'text' });
}
