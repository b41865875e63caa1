import { Pool } from 'undici';

/** @returns a function that asks the downstream service for a price that takes `ms`. */
export function priceClient(origin: string, connections: number): (ms: number) => Promise<unknown> {
  const pool = new Pool(origin, { connections, pipelining: 1 });
  return async (ms) => {
    const { body } = await pool.request({ method: 'GET', path: `/price?ms=${ms}` });
    return body.json();
  };
}
