import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { EXIT, errors } from './errors.ts';

/** Writes chunks to a file or to standard output, no faster than the reader takes them. */
export async function write(chunks: Iterable<string>, path: string | undefined): Promise<void> {
  if (path === undefined) return writeTo(process.stdout, chunks);
  const stream = createWriteStream(path);
  const opened = Promise.race([
    once(stream, 'open'),
    once(stream, 'error').then(([error]) => {
      throw error;
    }),
  ]);
  try {
    await opened;
    await writeTo(stream, chunks);
    stream.end();
    await once(stream, 'close');
  } catch (error) {
    throw errors.unwritable(path, (error as Error).message);
  }
}

async function writeTo(stream: NodeJS.WritableStream, chunks: Iterable<string>): Promise<void> {
  for (const chunk of chunks) {
    if (!stream.write(chunk)) await once(stream, 'drain');
  }
}

/** `waitfall … | head` closes the pipe early: that is no error. A full disk is one, said in one line. */
export function endWhenOutputFails(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(process.exitCode ?? 0);
    process.stderr.write(
      `waitfall: ${errors.unwritable('standard output', error.message).message} [UNWRITABLE]\n`,
    );
    process.exit(EXIT.usage);
  });
}

/** Says on a terminal what is being done; silent where standard error is a file or a pipe. */
export class Progress {
  readonly #tty = process.stderr.isTTY === true;

  say(text: string): void {
    if (this.#tty) process.stderr.write(`\r\u001b[K${text}`);
  }

  clear(): void {
    if (this.#tty) process.stderr.write('\r\u001b[K');
  }
}
