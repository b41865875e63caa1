import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects garbage once. V8 does so when it allocates, but a worker that has done its work and only answers questions
 * hardly allocates: it would keep what reading and analysing left behind for as long as the screens are open.
 */
export function giveBackMemory(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}
