import type { RequestGroup } from '../aggregate/types.ts';
import type { Session, SpanDetail, Split, TraceDetail, WaitSummary } from './session.ts';

/** Spans and their stretches that are kept in all: one trace may hold 100,000 of them. */
const MOST_KEPT = 400_000;
/** Everything else is small beside them. */
const SMALL = 500;

function sizeOf(value: unknown): number {
  const { rows, pieces } = value as Partial<TraceDetail>;
  return rows && pieces ? rows.length + pieces.length : SMALL;
}

/**
 * What screens draw from: values that are there now. Asking for one that is not starts loading it and repaints when
 * it has come, so that drawing never waits.
 */
export class Data {
  #session: Session;
  readonly #onChange: () => void;
  readonly #values = new Map<string, unknown>();
  readonly #loading = new Set<string>();
  /** Drawing asks again at every picture: what has failed once would fail for ever. */
  readonly #failed = new Set<string>();
  /** Counts what has come: the same state drawn again is another picture then. */
  version = 0;
  /** The last thing that could not be loaded, for the message line. */
  error = '';

  constructor(session: Session, onChange: () => void) {
    this.#session = session;
    this.#onChange = onChange;
  }

  get session(): Session {
    return this.#session;
  }

  /** Takes over what is known by now; what is loaded or asked for stays. */
  update(session: Session): void {
    if (session === this.#session) return;
    this.#session = session;
    this.version++;
  }

  trace(index: number): TraceDetail | undefined {
    return this.#get(`trace ${index}`, () => this.session.trace(index));
  }

  span(row: number): SpanDetail | undefined {
    return this.#get(`span ${row}`, () => this.session.span(row));
  }

  waits(resource: string): WaitSummary | undefined {
    return this.#get(`waits ${resource}`, () => this.session.waits(resource, 200));
  }

  step(window: number): RequestGroup | undefined {
    return this.#get(`step ${window}`, () => this.session.step(window));
  }

  split(attribute: string): readonly Split[] | undefined {
    return this.#get(`split ${attribute}`, () => this.session.split(attribute));
  }

  /** What was asked for first goes first; the newest stays, however large it is. */
  #forgetOldest(): void {
    const sizes = [...this.#values.values()].map(sizeOf);
    let total = sizes.reduce((sum, size) => sum + size, 0);
    for (const [index, key] of [...this.#values.keys()].entries()) {
      if (total <= MOST_KEPT || this.#values.size === 1) return;
      this.#values.delete(key);
      total -= sizes[index];
    }
  }

  #get<T>(key: string, load: () => Promise<T>): T | undefined {
    if (this.#values.has(key)) return this.#values.get(key) as T;
    if (!this.#loading.has(key) && !this.#failed.has(key)) {
      this.#loading.add(key);
      load().then(
        (value) => {
          this.#values.set(key, value);
          this.#forgetOldest();
          this.#loading.delete(key);
          this.version++;
          this.#onChange();
        },
        (error: unknown) => {
          this.#loading.delete(key);
          this.#failed.add(key);
          this.error = error instanceof Error ? error.message : String(error);
          this.version++;
          this.#onChange();
        },
      );
    }
    return undefined;
  }
}
