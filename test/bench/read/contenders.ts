import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What one run of a contender took. */
export interface Run {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMb: number;
}

/** One row of a table: a name and the arguments of the Node process that does the work alone. */
export interface Contender {
  readonly name: string;
  readonly args: readonly string[];
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The `waitfall` command as it is installed. */
export const COMMAND = here('../../../analyzer/bin/waitfall.js');

/** @returns a contender of subject.ts. */
export function subject(name: string, ...args: string[]): Contender {
  return {
    name,
    args: ['--conditions=waitfall-source', '--max-old-space-size=8192', here('./subject.ts'), name, ...args],
  };
}

/** Runs a contender in a fresh process: nothing is warm, as for somebody who runs the command once. */
export function measure({ name, args }: Contender): Run | null {
  const child = spawnSync(process.execPath, ['--import', here('./measure.ts'), ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  if (child.status !== 0) {
    console.error(`${name}: ${child.stderr.trim().split('\n').slice(-3).join(' ')}`);
    return null;
  }
  return JSON.parse(String(child.output[3]));
}

/** Contenders take turns, so that a busy minute of the machine hits all of them. */
export function measureAll(contenders: readonly Contender[], runs: number): Map<string, Run[]> {
  const results = new Map<string, Run[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < runs; round++) {
    for (const contender of contenders) {
      const run = measure(contender);
      if (run !== null) results.get(contender.name)?.push(run);
    }
  }
  return results;
}
