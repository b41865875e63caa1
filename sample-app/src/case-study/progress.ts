import { cores, duration, progressLine } from '../load/format.ts';
import type { LoadMessage } from '../load/main.ts';
import type { StepResult } from '../load/step-recorder.ts';
import type { Sample } from './monitor.ts';

/** Seconds between two progress lines where the output is not a terminal. */
const QUIET_SECONDS = 5;

export const TABLE_HEADER =
  '  offered  planned  completed  goodput/s      p50      p99  errors  peak queue: admission  pool   app CPU  db CPU  others';

/** Shows a load while it runs: a line that changes, and one line for each step that has ended. */
export class ProgressDisplay {
  readonly #out: NodeJS.WriteStream;
  #lastLineMs = 0;
  #peakAdmission = 0;
  #peakPool = 0;

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }

  show(message: LoadMessage, sample: Sample | null): void {
    const service = sample?.service;
    this.#peakAdmission = Math.max(this.#peakAdmission, service?.waiting ?? 0);
    this.#peakPool = Math.max(this.#peakPool, service?.pool.waiting ?? 0);
    if ('progress' in message) {
      const queues = service
        ? `; queues: admission ${service.waiting}, pool ${service.pool.waiting}, outbox ${service.outbox?.rows ?? '-'}`
        : '';
      this.#live(`  ${progressLine(message.progress)}${queues}`);
    } else if ('step' in message) {
      this.#line(stepRow(message.step, this.#peakAdmission, this.#peakPool));
      this.#peakAdmission = 0;
      this.#peakPool = 0;
    }
  }

  #live(text: string): void {
    if (this.#out.isTTY) {
      this.#out.write(`\r\x1b[K${text.slice(0, this.#out.columns - 1)}`);
    } else if (Date.now() - this.#lastLineMs >= QUIET_SECONDS * 1000) {
      this.#lastLineMs = Date.now();
      this.#out.write(`${text}\n`);
    }
  }

  #line(text: string): void {
    this.#out.write(this.#out.isTTY ? `\r\x1b[K${text}\n` : `${text}\n`);
  }
}

function stepRow(step: StepResult, peakAdmission: number, peakPool: number): string {
  const errors = step.rejected + step.timedOut + step.transportFailed + step.invalid + step.cancelled;
  return [
    `${step.arrivalsPerSecond}/s`.padStart(9),
    String(step.planned).padStart(8),
    String(step.succeeded + errors).padStart(10),
    step.goodputPerSecond.toFixed(1).padStart(10),
    duration(step.latencyFromPlannedNs.p50).padStart(8),
    duration(step.latencyFromPlannedNs.p99).padStart(8),
    String(errors).padStart(7),
    String(peakAdmission).padStart(22),
    String(peakPool).padStart(5),
    cores(step.cpu['app']).padStart(9),
    cores(step.cpu['db']).padStart(7),
    cores(step.cpu['others']).padStart(7),
    step.phase === 'ramp' ? '' : ` ${step.phase}`,
    step.disturbed ? ' (disturbed by other programs)' : '',
  ].join(' ');
}
