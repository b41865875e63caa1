import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { errors } from '../errors.ts';

/**
 * Runs a service with its spans going to a file, until it ends, is interrupted (Ctrl-C reaches it too), or the time is
 * over; then it is asked to end with SIGINT.
 *
 * @returns once it has ended; throws when it wrote no span.
 */
export async function record(command: readonly string[], file: string, forMs: number | null): Promise<void> {
  const [program, ...args] = command;
  const child = spawn(program, args, {
    // Standard output is ours: what the service prints goes where our progress goes.
    stdio: ['inherit', 2, 'inherit'],
    env: { ...process.env, WAITFALL_TRACE_FILE: file },
  });
  const survive = (): void => {};
  process.on('SIGINT', survive);
  const timer = forMs === null ? undefined : setTimeout(() => child.kill('SIGINT'), forMs);
  const hint = forMs === null ? 'send it requests, then end it with Ctrl-C' : 'send it requests';
  process.stderr.write(`waitfall: started ${command.join(' ')}; ${hint}\n`);
  try {
    await new Promise<void>((resolve, reject) => {
      child.on('error', (error) => reject(errors.notStarted(command.join(' '), error.message)));
      child.on('close', () => resolve());
    });
  } finally {
    clearTimeout(timer);
    process.off('SIGINT', survive);
  }
  if (!existsSync(file) || statSync(file).size === 0) throw errors.nothingRecorded();
}
