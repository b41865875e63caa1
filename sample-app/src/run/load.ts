import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadFile } from '../load/load-file.ts';
import type { LoadMessage } from '../load/main.ts';
import type { LoadManifest } from '../load/manifest.ts';
import type { Children } from './children.ts';

export interface Offer {
  readonly manifest: LoadManifest;
  /** The service. */
  readonly url: string;
  /** Where load.json and the client's spans go. */
  readonly directory: string;
  /** Processes whose CPU use is recorded, by name. */
  readonly watch: Readonly<Record<string, number>>;
  readonly onMessage?: (message: LoadMessage) => void;
}

/** Offers a load from a process of its own. @returns what came of it. */
export async function offerLoad(children: Children, offer: Offer): Promise<LoadFile> {
  const watch = Object.entries(offer.watch).flatMap(([name, pid]) => ['--watch', `${name}=${pid}`]);
  const generator = children.spawn('load generator', new URL('../load/main.ts', import.meta.url), {
    args: ['--manifest', '-', '--url', offer.url, '--out', offer.directory, ...watch],
    input: JSON.stringify(offer.manifest),
  });
  generator.on('message', (message: LoadMessage) => offer.onMessage?.(message));
  await new Promise<void>((resolve, reject) => {
    generator.once('exit', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`the load generator ended with ${signal ?? `exit code ${code}`}`));
    });
  });
  return JSON.parse(await readFile(join(offer.directory, 'load.json'), 'utf8')) as LoadFile;
}
