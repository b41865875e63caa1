import type { CpuUse } from '../machine/cpu.ts';
import { LatencyRecorder, type LatencySummary } from './latency.ts';
import type { Step } from './manifest.ts';
import { OUTCOMES, type Outcome } from './outcome.ts';

/** Other programs using more than half a core make a step unfit for conclusions from times. */
export const DISTURBED_CORES = 0.5;

type OutcomeCounts = Readonly<Record<Outcome, number>>;

/** Result of one step. Requests belong to the step in which their arrival was planned. */
export interface StepResult extends OutcomeCounts {
  readonly startUnixNano: string;
  readonly endUnixNano: string;
  /** Open model: as planned. Closed model: as measured, the users decide it. */
  readonly arrivalsPerSecond: number;
  readonly phase: Step['phase'];
  readonly users?: number;
  readonly planned: number;
  readonly started: number;
  /** Planned, but no virtual user was free to start it. */
  readonly dropped: number;
  /** Sendings of the started requests, repetitions included. */
  readonly attempts: number;
  /** Answered as they should be while the step lasted, per second, whenever they had arrived. */
  readonly goodputPerSecond: number;
  /** Planned arrival to sending. */
  readonly startLagNs: LatencySummary;
  /** Planned arrival to last byte; of succeeded requests and, as "at least", of those given up. */
  readonly latencyFromPlannedNs: LatencySummary;
  /** Sending to last byte, of the same requests. */
  readonly latencyFromSentNs: LatencySummary;
  /** Sending to last byte of rejected requests. */
  readonly rejectedLatencyNs: LatencySummary;
  /** What the service itself stated in `Server-Timing`, of succeeded requests. */
  readonly serverQueueNs: LatencySummary;
  readonly serverWorkNs: LatencySummary;
  readonly requests: Readonly<Record<string, ClassResult>>;
  /** Cores used by each watched process and by everything else; null where it cannot be known. */
  readonly cpu: Readonly<Record<string, number | null>>;
  /** How long the generator stood ready to run without getting a core, ns. */
  readonly generatorRunDelayNs: number | null;
  /** Whether other programs used more than half a core; null where it cannot be known. */
  readonly disturbed: boolean | null;
  /** Whether the step was run again for that: what follows counts instead. */
  readonly repeated: boolean;
}

/** Result of one kind of request in one step. */
export interface ClassResult extends OutcomeCounts {
  readonly planned: number;
  readonly latencyFromPlannedNs: LatencySummary;
}

const noOutcomes = (): Record<Outcome, number> =>
  Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Record<Outcome, number>;

/** What is known of a request once it is over. */
export interface EndedRequest {
  readonly outcome: Outcome;
  readonly attempts: number;
  readonly fromPlannedNs: number;
  /** From the first sending. */
  readonly fromSentNs: number;
  readonly serverQueueMs: number | null;
  readonly serverWorkMs: number | null;
}

/** Collects what happens to the requests of one step. */
export class StepRecorder {
  readonly step: Step;
  planned = 0;
  started = 0;
  dropped = 0;
  attempts = 0;
  readonly outcomes = noOutcomes();
  readonly latencyFromPlanned = new LatencyRecorder();
  readonly #latencyFromSent = new LatencyRecorder();
  readonly #rejectedLatency = new LatencyRecorder();
  readonly #serverQueue = new LatencyRecorder();
  readonly #serverWork = new LatencyRecorder();
  readonly #startLag = new LatencyRecorder();
  readonly #classes = new Map<string, ClassRecorder>();

  constructor(step: Step) {
    this.step = step;
  }

  plan(className: string): void {
    this.planned++;
    this.#class(className).planned++;
  }

  start(lagNs: number): void {
    this.started++;
    this.#startLag.record(lagNs);
  }

  end(className: string, ended: EndedRequest): void {
    const { outcome, fromPlannedNs, fromSentNs, serverQueueMs, serverWorkMs } = ended;
    const recorder = this.#class(className);
    this.attempts += ended.attempts;
    this.outcomes[outcome]++;
    recorder.outcomes[outcome]++;
    if (outcome === 'rejected') this.#rejectedLatency.record(fromSentNs);
    if (outcome !== 'succeeded' && outcome !== 'timedOut') return;
    const atLeast = outcome === 'timedOut';
    this.latencyFromPlanned.record(fromPlannedNs, atLeast);
    this.#latencyFromSent.record(fromSentNs, atLeast);
    recorder.latency.record(fromPlannedNs, atLeast);
    if (serverQueueMs !== null) this.#serverQueue.record(serverQueueMs * 1e6);
    if (serverWorkMs !== null) this.#serverWork.record(serverWorkMs * 1e6);
  }

  get completed(): number {
    return OUTCOMES.reduce((sum, outcome) => sum + this.outcomes[outcome], 0);
  }

  /** @param repeated the step was disturbed and run again after this. */
  result(measured: StepMeasurement, repeated = false): StepResult {
    const { cpu, startNs, endNs, generatorRunDelayNs, succeededMeanwhile } = measured;
    const seconds = Number(endNs - startNs) / 1e9;
    return {
      startUnixNano: String(startNs),
      endUnixNano: String(endNs),
      arrivalsPerSecond: this.step.arrivalsPerSecond ?? this.planned / seconds,
      phase: this.step.phase,
      ...(this.step.users === undefined ? {} : { users: this.step.users }),
      planned: this.planned,
      started: this.started,
      dropped: this.dropped,
      attempts: this.attempts,
      ...this.outcomes,
      goodputPerSecond: succeededMeanwhile / seconds,
      startLagNs: this.#startLag.summary(),
      latencyFromPlannedNs: this.latencyFromPlanned.summary(),
      latencyFromSentNs: this.#latencyFromSent.summary(),
      rejectedLatencyNs: this.#rejectedLatency.summary(),
      serverQueueNs: this.#serverQueue.summary(),
      serverWorkNs: this.#serverWork.summary(),
      requests: Object.fromEntries([...this.#classes].map(([name, recorder]) => [name, recorder.result()])),
      cpu: { ...cpu.byName, others: cpu.others },
      generatorRunDelayNs,
      disturbed: cpu.others === null ? null : cpu.others > DISTURBED_CORES,
      repeated,
    };
  }

  #class(name: string): ClassRecorder {
    let recorder = this.#classes.get(name);
    if (recorder === undefined) {
      recorder = new ClassRecorder();
      this.#classes.set(name, recorder);
    }
    return recorder;
  }
}

/** What was measured around a step, not request by request. */
export interface StepMeasurement {
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly cpu: CpuUse;
  readonly generatorRunDelayNs: number | null;
  /** Requests of any step that succeeded while this one lasted. */
  readonly succeededMeanwhile: number;
}

class ClassRecorder {
  planned = 0;
  readonly outcomes = noOutcomes();
  readonly latency = new LatencyRecorder();

  result(): ClassResult {
    return {
      planned: this.planned,
      ...this.outcomes,
      latencyFromPlannedNs: this.latency.summary(),
    };
  }
}
