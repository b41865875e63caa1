/** Which queue a scenario is built to saturate first; `none`: any of them, but the load stops well below. */
export const FAMILIES = [
  'admission',
  'eventloop',
  'pool-a',
  'pool-b',
  'lock',
  'downstream',
  'connection',
  'none',
] as const;
export type Family = (typeof FAMILIES)[number];
export type Target = Exclude<Family, 'none'>;

/** What else is special about a scenario. */
export const SHAPES = [
  'plain',
  'replicas',
  'bounded',
  'loss',
  'retries',
  'slowdown',
  'drift',
  'idle',
  'closed',
] as const;
export type Shape = (typeof SHAPES)[number];
