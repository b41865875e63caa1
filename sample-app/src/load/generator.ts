import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { unixNano } from '../machine/clock.ts';
import { CpuMeter, runDelayNs } from '../machine/cpu.ts';
import { arrivalOffsets } from './arrivals.ts';
import { type Answer, HttpClient } from './client.ts';
import type { Attempt, ClientSpanWriter } from './client-spans.ts';
import type { LoadManifest, Step } from './manifest.ts';
import type { Outcome } from './outcome.ts';
import { seededRandom } from './random.ts';
import { type PreparedRequest, RequestMix } from './requests.ts';
import { StepRecorder, type StepResult } from './step-recorder.ts';

/** Time between the start and the first arrival: the connections of the event loop settle. */
const LEAD_NS = 200_000_000n;

/** Books of the requests of a whole load: entered = succeeded + failed + cancelled + inFlightEnd. */
export interface Conservation {
  readonly inFlightStart: number;
  readonly entered: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly inFlightEnd: number;
}

/** State of the running step, for a progress display. */
export interface Progress {
  readonly step: number;
  readonly steps: number;
  readonly phase: Step['phase'];
  readonly arrivalsPerSecond: number | null;
  readonly users: number | null;
  readonly elapsedSeconds: number;
  readonly planned: number;
  readonly completed: number;
  readonly failed: number;
  readonly inFlight: number;
  readonly p50Ns: number | null;
  readonly p99Ns: number | null;
}

export interface GeneratorOptions {
  readonly target: URL;
  /** Processes whose CPU use is recorded, by name. */
  readonly watch?: Readonly<Record<string, number>>;
  readonly spans?: ClientSpanWriter;
  readonly onStep?: (result: StepResult, index: number) => void;
}

interface PlannedRequest {
  readonly atNs: number;
  readonly request: PreparedRequest;
}

/** Offers one load to one service. */
export class Generator {
  readonly #manifest: LoadManifest;
  readonly #options: GeneratorOptions;
  readonly #client: HttpClient;
  readonly #mix: RequestMix;
  readonly #random: () => number;
  readonly #recorders: StepRecorder[];
  #current = 0;
  #stepStartNs = 0n;
  #entered = 0;
  #inFlight = 0;
  #succeeded = 0;
  #interrupted = false;

  constructor(manifest: LoadManifest, options: GeneratorOptions) {
    this.#manifest = manifest;
    this.#options = options;
    this.#client = new HttpClient(
      options.target,
      manifest.model === 'open'
        ? manifest.maxInFlight
        : Math.max(...manifest.steps.map((step) => step.users!)),
      manifest.timeoutMs,
    );
    this.#random = seededRandom(manifest.seed);
    this.#mix = new RequestMix(manifest, seededRandom(manifest.seed + 1));
    this.#recorders = manifest.steps.map((step) => new StepRecorder(step));
  }

  /** Runs all steps and waits for the last answer. @returns one result a step. */
  async run(): Promise<StepResult[]> {
    const plans = this.#manifest.steps.map((step) => this.#plan(step));
    const measurements = [];
    const results: StepResult[] = [];
    this.#stepStartNs = unixNano() + LEAD_NS;
    await sleep(Number(LEAD_NS / 1_000_000n));
    const meter = new CpuMeter({ ...this.#options.watch, generator: process.pid });
    for (const [index, step] of this.#manifest.steps.entries()) {
      if (this.#interrupted) break;
      this.#current = index;
      const startNs = this.#stepStartNs;
      const endNs = startNs + BigInt(Math.round(step.seconds * 1e9));
      const succeededBefore = this.#succeeded;
      const delayBefore = runDelayNs('self');
      if (this.#manifest.model === 'open') await this.#arrive(index, plans[index]!, startNs, endNs);
      else await this.#useUsers(index, step.users!, endNs);
      const delay = runDelayNs('self');
      measurements.push({
        startNs,
        endNs: this.#interrupted ? unixNano() : endNs,
        cpu: meter.read(),
        generatorRunDelayNs: delay === null || delayBefore === null ? null : delay - delayBefore,
        succeededMeanwhile: this.#succeeded - succeededBefore,
      });
      this.#options.onStep?.(this.#recorders[index]!.result(measurements[index]!), index);
      this.#stepStartNs = endNs;
    }
    while (this.#inFlight > 0) await sleep(10);
    await this.#client.close();
    for (const [index, measurement] of measurements.entries()) {
      results.push(this.#recorders[index]!.result(measurement));
    }
    return results;
  }

  /** Ends the load early: no more arrivals, open requests are given up and counted as cancelled. */
  interrupt(): void {
    this.#interrupted = true;
    this.#client.cancel();
  }

  progress(): Progress {
    const recorder = this.#recorders[this.#current]!;
    const { arrivalsPerSecond, users, phase } = recorder.step;
    return {
      step: this.#current,
      steps: this.#recorders.length,
      phase,
      arrivalsPerSecond: arrivalsPerSecond ?? null,
      users: users ?? null,
      elapsedSeconds: Number(unixNano() - this.#stepStartNs) / 1e9,
      planned: recorder.planned,
      completed: recorder.completed,
      failed: recorder.completed - recorder.outcomes.succeeded,
      inFlight: this.#inFlight,
      p50Ns: recorder.latencyFromPlanned.percentileNs(50),
      p99Ns: recorder.latencyFromPlanned.percentileNs(99),
    };
  }

  conservation(): Conservation {
    const { succeeded, cancelled } = this.#total();
    const failed = this.#entered - succeeded - cancelled - this.#inFlight;
    return {
      inFlightStart: 0,
      entered: this.#entered,
      succeeded,
      failed,
      cancelled,
      inFlightEnd: this.#inFlight,
    };
  }

  #total(): { succeeded: number; cancelled: number } {
    let succeeded = 0;
    let cancelled = 0;
    for (const { outcomes } of this.#recorders) {
      succeeded += outcomes.succeeded;
      cancelled += outcomes.cancelled;
    }
    return { succeeded, cancelled };
  }

  #plan(step: Step): PlannedRequest[] {
    if (this.#manifest.model === 'closed') return [];
    const offsets = arrivalOffsets(
      this.#manifest.arrivals,
      step.arrivalsPerSecond!,
      step.seconds,
      this.#random,
    );
    return offsets.map((seconds) => ({ atNs: Math.round(seconds * 1e9), request: this.#mix.next() }));
  }

  /** Open model: starts each request at its time, whatever became of the others. */
  async #arrive(index: number, plan: PlannedRequest[], startNs: bigint, endNs: bigint): Promise<void> {
    const recorder = this.#recorders[index]!;
    for (const { atNs, request } of plan) {
      const plannedNs = startNs + BigInt(atNs);
      await this.#until(plannedNs);
      if (this.#interrupted) return;
      recorder.plan(request.class.name);
      if (this.#inFlight >= this.#manifest.maxInFlight) recorder.dropped++;
      else void this.#send(recorder, request, plannedNs);
    }
    await this.#until(endNs);
  }

  /** Closed model: each user asks, waits for the answer, thinks, and asks again. */
  async #useUsers(index: number, users: number, endNs: bigint): Promise<void> {
    const recorder = this.#recorders[index]!;
    const user = async () => {
      while (unixNano() < endNs && !this.#interrupted) {
        const request = this.#mix.next();
        recorder.plan(request.class.name);
        const outcome = await this.#send(recorder, request, unixNano());
        const pauseMs = this.#manifest.thinkMs + (outcome === 'rejected' ? this.#manifest.backoffMs : 0);
        if (pauseMs > 0) await sleep(pauseMs);
      }
    };
    await Promise.all(Array.from({ length: users }, user));
  }

  /** Waits until a moment; timers fire up to a millisecond late, which is the start lag of a quiet machine. */
  async #until(atNs: bigint): Promise<void> {
    for (;;) {
      const leftNs = Number(atNs - unixNano());
      if (leftNs <= 0 || this.#interrupted) return;
      await sleep(Math.min(100, Math.floor(leftNs / 1e6)));
    }
  }

  async #send(recorder: StepRecorder, request: PreparedRequest, plannedNs: bigint): Promise<Outcome> {
    const traceId = hexId(16);
    this.#entered++;
    this.#inFlight++;
    const attempts: Attempt[] = [];
    recorder.start(Number(unixNano() - plannedNs));
    let answer: Answer;
    do {
      const spanId = hexId(8);
      const sentNs = unixNano();
      answer = await this.#client.send(request, `00-${traceId}-${spanId}-01`);
      attempts.push({ spanId, sentNs, endNs: unixNano(), outcome: answer.outcome, status: answer.status });
    } while (
      answer.outcome === 'timedOut' &&
      attempts.length < this.#manifest.attempts &&
      !this.#interrupted
    );
    const { endNs, outcome } = attempts.at(-1)!;
    this.#inFlight--;
    if (outcome === 'succeeded') this.#succeeded++;
    recorder.end(request.class.name, {
      outcome,
      attempts: attempts.length,
      fromPlannedNs: Number(endNs - plannedNs),
      fromSentNs: Number(endNs - attempts[0]!.sentNs),
      serverQueueMs: answer.serverQueueMs,
      serverWorkMs: answer.serverWorkMs,
    });
    this.#options.spans?.write(traceId, request, plannedNs, attempts);
    return outcome;
  }
}

function hexId(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}
