import { grown } from '../model/growing.ts';

/** Single waits of one window, in any order, and for how many requests each stands. */
export class SingleWaits {
  #ns = new Float64Array(16);
  /** Made with the first weight that is not 1. */
  #weights: Float64Array | null = null;
  #length = 0;

  push(ns: number, weight: number): void {
    if (this.#length === this.#ns.length) this.#grow();
    if (weight !== 1 && this.#weights === null) this.#weights = new Float64Array(this.#ns.length).fill(1);
    this.#ns[this.#length] = ns;
    if (this.#weights !== null) this.#weights[this.#length] = weight;
    this.#length++;
  }

  /** Takes so much off each of them; none becomes less than nothing. */
  lessen(ns: number): void {
    for (let i = 0; i < this.#length; i++) this.#ns[i] = Math.max(0, this.#ns[i] - ns);
  }

  get ns(): Float64Array {
    return this.#ns.subarray(0, this.#length);
  }

  /** null: each stands for one. */
  get weights(): Float64Array | null {
    return this.#weights === null ? null : this.#weights.subarray(0, this.#length);
  }

  #grow(): void {
    const capacity = Math.ceil(this.#length * 1.5);
    this.#ns = grown(this.#ns, new Float64Array(capacity));
    if (this.#weights !== null) this.#weights = grown(this.#weights, new Float64Array(capacity).fill(1));
  }
}
