import { writeSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

/*
 * Loaded ahead of a contender (`node --import`): at its end it writes what the process took to file descriptor 3.
 * What Node needs to start, and to strip the types of a contender of ours, is nobody's merit.
 */
let started = performance.now();
let before = process.cpuUsage();

(globalThis as { startMeasuring?: () => void }).startMeasuring = () => {
  started = performance.now();
  before = process.cpuUsage();
};

process.on('exit', () => {
  const { user, system } = process.cpuUsage(before);
  const measured = {
    wallMs: performance.now() - started,
    cpuMs: (user + system) / 1000,
    peakMb: process.resourceUsage().maxRSS / 1024,
  };
  writeSync(3, JSON.stringify(measured));
});
