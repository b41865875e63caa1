import { createWriteStream, type WriteStream } from 'node:fs';
import { unixNano } from '../machine/clock.ts';
import { CpuMeter, runDelayNs } from '../machine/cpu.ts';
import { UNRECORDED } from '../run/unrecorded.ts';
import type { StatsAnswer } from '../service/stats.ts';

const INTERVAL_MS = 500;

/** State of the run at one moment; a line of `resources.jsonl`. */
export interface Sample {
  readonly timeUnixNano: string;
  /** Cores used since the previous sample by each process of the run; null where unknown. */
  readonly cpu: Readonly<Record<string, number | null>>;
  /** Share of the time since the previous sample in which the service's event loop was not idle. */
  readonly eventLoopUtilization: number | null;
  /** Share of the time since the previous sample in which the service stood ready without a core. */
  readonly appRunDelayShare: number | null;
  /** Answer of `/stats`; null where the service did not answer. */
  readonly service: StatsAnswer | null;
}

/** @returns the service's state; null where it does not answer within two seconds. */
export async function readStats(serviceUrl: string): Promise<StatsAnswer | null> {
  try {
    const response = await fetch(`${serviceUrl}/stats`, {
      headers: { traceparent: UNRECORDED },
      signal: AbortSignal.timeout(2_000),
    });
    return response.ok ? ((await response.json()) as StatsAnswer) : null;
  } catch {
    return null;
  }
}

/** Samples the service and the machine twice a second while a load runs. */
export class Monitor {
  readonly samples: Sample[] = [];
  readonly #url: string;
  readonly #appPid: number;
  readonly #meter: CpuMeter;
  readonly #file: WriteStream;
  readonly #timer: NodeJS.Timeout;
  #reading: Promise<void> | null = null;
  #lastAtNs = unixNano();
  #lastDelayNs: number | null;

  constructor(serviceUrl: string, pids: Readonly<Record<string, number>>, path: string) {
    this.#url = serviceUrl;
    this.#appPid = pids['app']!;
    this.#meter = new CpuMeter(pids);
    this.#file = createWriteStream(path);
    this.#lastDelayNs = runDelayNs(this.#appPid);
    this.#timer = setInterval(() => {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = null;
      });
    }, INTERVAL_MS);
  }

  get last(): Sample | null {
    return this.samples.at(-1) ?? null;
  }

  async #read(): Promise<void> {
    const service = await readStats(this.#url);
    const { byName, others } = this.#meter.read();
    const atNs = unixNano();
    const delayNs = runDelayNs(this.#appPid);
    const elapsedNs = Number(atNs - this.#lastAtNs);
    const sample: Sample = {
      timeUnixNano: String(atNs),
      cpu: { ...byName, others },
      eventLoopUtilization: loopUtilization(this.#lastService(), service),
      appRunDelayShare:
        delayNs === null || this.#lastDelayNs === null ? null : (delayNs - this.#lastDelayNs) / elapsedNs,
      service,
    };
    this.#lastAtNs = atNs;
    this.#lastDelayNs = delayNs;
    this.samples.push(sample);
    this.#file.write(`${JSON.stringify(sample)}\n`);
  }

  #lastService(): StatsAnswer | null {
    return this.samples.findLast((sample) => sample.service !== null)?.service ?? null;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
    await new Promise<void>((resolve) => this.#file.end(() => resolve()));
  }
}

/** Event-loop utilisation between two readings, 0..1: active / (active + idle), as Node defines it. */
function loopUtilization(before: StatsAnswer | null, now: StatsAnswer | null): number | null {
  if (before === null || now === null) return null;
  const active = now.eventLoop.activeMs - before.eventLoop.activeMs;
  const idle = now.eventLoop.idleMs - before.eventLoop.idleMs;
  return active >= 0 && active + idle > 0 ? active / (active + idle) : null;
}
