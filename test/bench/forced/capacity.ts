import { setTimeout as sleep } from 'node:timers/promises';
import { UNRECORDED } from '../../../sample-app/src/run/unrecorded.ts';
import type { Configuration } from './configurations.ts';

const WARM_UP_REQUESTS = 30;
/** Users that send their next request when the last was answered: enough to keep the narrowest place busy. */
const USERS = 24;
const MEASURE_MS = 2_000;
/** A user who was turned away does not ask again at once. */
const PAUSE_MS = 10;

/** The sign-up of a user; `campaign` and `user` may be placeholders of the load generator. */
export const signUp = (campaign: unknown, user: unknown) => ({ campaign, user, age: 30, region: 'r1' });

/** What a service does on this machine as it is now. */
export interface Measured {
  /** Sign-ups a second that succeed while everybody always asks. */
  readonly perSecond: number;
  /** Median time of a sign-up that nobody else is in the way of, ms. */
  readonly aloneMs: number;
}

/**
 * Measures what the service does at most, on this machine as it is now: an open load that is a share of it is below or
 * beyond the limit however fast the machine. Nothing of it is recorded.
 */
export async function measureCapacity(
  url: string,
  { campaign }: Configuration,
  measureMs: number = MEASURE_MS,
): Promise<Measured> {
  // Users of these requests are nobody else's.
  let user = 1e9;
  const ask = async (): Promise<boolean> => {
    const n = user++;
    const response = await fetch(`${url}/signup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', traceparent: UNRECORDED },
      body: JSON.stringify(signUp(campaign === 'one' ? 1 : 2 + (n % 50), n)),
    });
    await response.arrayBuffer();
    return response.status === 201;
  };
  const alone: number[] = [];
  for (let i = 0; i < WARM_UP_REQUESTS; i++) {
    const startMs = performance.now();
    await ask();
    alone.push(performance.now() - startMs);
  }
  let done = 0;
  const endMs = performance.now() + measureMs;
  await Promise.all(
    Array.from({ length: USERS }, async () => {
      while (performance.now() < endMs) {
        const succeeded = await ask();
        if (!succeeded) await sleep(PAUSE_MS);
        // One that takes long after all others have ended says nothing about them.
        else if (performance.now() < endMs) done++;
      }
    }),
  );
  alone.sort((a, b) => a - b);
  return { perSecond: (done / measureMs) * 1e3, aloneMs: alone[alone.length >> 1] };
}
