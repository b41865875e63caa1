/** Parses that are timed; the median of them is not moved by a collection of garbage now and then. */
const PARSES = 41;

/**
 * @returns how fast this machine parses such JSON at the moment, bytes per second of CPU time: the median of 41
 * parses. Takes as long as they do. A program that takes turns on the core does not slow it down; one on the other
 * thread of the core does, as does a throttled core.
 */
export function parseBytesPerSecond(text: string): number {
  const cpuUs: number[] = [];
  for (let i = 0; i < PARSES; i++) {
    const before = process.cpuUsage();
    JSON.parse(text);
    const { user, system } = process.cpuUsage(before);
    cpuUs.push(user + system);
  }
  cpuUs.sort((a, b) => a - b);
  return (text.length / cpuUs[PARSES >> 1]!) * 1e6;
}
