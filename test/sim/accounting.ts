import { SEGMENTS, type Segment } from '@waitfall/instrumentation/conventions';

const INDEX = new Map<string, number>(SEGMENTS.map((name, i) => [name, i]));

/**
 * Where the time of one request, or of one branch of it, went: written by the request itself as it proceeds, so it
 * knows nothing of spans or of how they are cut up again.
 */
export class Ledger {
  readonly ns = new Float64Array(SEGMENTS.length);

  add(segment: Segment, ns: number): void {
    this.ns[INDEX.get(segment) as number] += ns;
  }

  addAll(other: Ledger): void {
    for (let i = 0; i < this.ns.length; i++) this.ns[i] += other.ns[i];
  }

  /** @returns the segments that own time. */
  toObject(): Partial<Record<Segment, number>> {
    const entries = SEGMENTS.map((name, i) => [name, this.ns[i]] as const).filter(([, ns]) => ns > 0);
    return Object.fromEntries(entries);
  }
}
