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
import { type StepMeasurement, StepRecorder, type StepResult } from './step-recorder.ts';

/** Time between the planning of requests and the first arrival. */
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

/** One time that a step was run. */
interface StepRun {
  /** Of the step in the manifest. */
  readonly index: number;
  readonly recorder: StepRecorder;
  /** null while it runs. */
  measured: StepMeasurement | null;
  repeated: boolean;
}

/** A disturbed step is run again at most this often. */
const MAX_REPEATS = 2;

/** Beyond the knee and after it, what a step finds depends on those before it: only the others can be repeated. */
function isSteady(step: Step): boolean {
  return step.phase === 'ramp' || step.phase === 'steady';
}

function resultOf({ recorder, measured, repeated }: StepRun): StepResult {
  return recorder.result(measured!, repeated);
}

/** Offers one load to one service. */
export class Generator {
  readonly #manifest: LoadManifest;
  readonly #options: GeneratorOptions;
  readonly #client: HttpClient;
  readonly #mix: RequestMix;
  readonly #random: () => number;
  /** Steps in the order they were run; a disturbed one may be there more than once. */
  readonly #runs: StepRun[] = [];
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
  }

  /** Runs all steps and waits for the last answer. @returns one result for each time a step was run. */
  async run(): Promise<StepResult[]> {
    const { steps } = this.#manifest;
    // Planned before the first request: planning a step takes longer than the gap between two arrivals.
    const plans = steps.map((step) => this.#plan(step, this.#random));
    if (this.#manifest.connect) await this.#client.connect(this.#manifest.connect);
    this.#stepStartNs = unixNano() + LEAD_NS;
    await sleep(Number(LEAD_NS / 1_000_000n));
    const meter = new CpuMeter({ ...this.#options.watch, generator: process.pid });
    let budgetSeconds = this.#manifest.repeatSeconds;
    for (const [index, step] of steps.entries()) {
      let plan = plans[index]!;
      for (let attempt = 1; !this.#interrupted; attempt++) {
        const run = await this.#runStep(index, plan, meter);
        const again =
          resultOf(run).disturbed === true &&
          attempt <= MAX_REPEATS &&
          isSteady(step) &&
          step.seconds <= budgetSeconds;
        run.repeated = again;
        this.#options.onStep?.(resultOf(run), index);
        if (!again) break;
        budgetSeconds -= step.seconds;
        plan = this.#plan(step, seededRandom(this.#manifest.seed + 97 * attempt + index));
        this.#stepStartNs = unixNano() + LEAD_NS;
      }
    }
    while (this.#inFlight > 0) await sleep(10);
    await this.#client.close();
    return this.#runs.map(resultOf);
  }

  async #runStep(index: number, plan: PlannedRequest[], meter: CpuMeter): Promise<StepRun> {
    const step = this.#manifest.steps[index]!;
    const recorder = new StepRecorder(step);
    const startNs = this.#stepStartNs;
    const endNs = startNs + BigInt(Math.round(step.seconds * 1e9));
    const run: StepRun = { index, recorder, measured: null, repeated: false };
    this.#runs.push(run);
    const succeededBefore = this.#succeeded;
    const delayBefore = runDelayNs('self');
    if (this.#manifest.model === 'open') await this.#arrive(recorder, plan, startNs, endNs);
    else await this.#useUsers(recorder, step.users!, endNs);
    const delay = runDelayNs('self');
    run.measured = {
      startNs,
      endNs: this.#interrupted ? unixNano() : endNs,
      cpu: meter.read(),
      generatorRunDelayNs: delay === null || delayBefore === null ? null : delay - delayBefore,
      succeededMeanwhile: this.#succeeded - succeededBefore,
    };
    this.#stepStartNs = endNs;
    return run;
  }

  /** Ends the load early: no more arrivals, open requests are given up and counted as cancelled. */
  interrupt(): void {
    this.#interrupted = true;
    this.#client.cancel();
  }

  /** @returns null before the first step has begun. */
  progress(): Progress | null {
    const run = this.#runs.at(-1);
    if (run === undefined) return null;
    const { recorder, index } = run;
    const { arrivalsPerSecond, users, phase } = recorder.step;
    return {
      step: index,
      steps: this.#manifest.steps.length,
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
    for (const { recorder } of this.#runs) {
      succeeded += recorder.outcomes.succeeded;
      cancelled += recorder.outcomes.cancelled;
    }
    return { succeeded, cancelled };
  }

  #plan(step: Step, random: () => number): PlannedRequest[] {
    if (this.#manifest.model === 'closed') return [];
    const offsets = arrivalOffsets(this.#manifest.arrivals, step.arrivalsPerSecond!, step.seconds, random);
    return offsets.map((seconds) => ({ atNs: Math.round(seconds * 1e9), request: this.#mix.next() }));
  }

  /** Open model: starts each request at its time, whatever became of the others. */
  async #arrive(
    recorder: StepRecorder,
    plan: PlannedRequest[],
    startNs: bigint,
    endNs: bigint,
  ): Promise<void> {
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
  async #useUsers(recorder: StepRecorder, users: number, endNs: bigint): Promise<void> {
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
