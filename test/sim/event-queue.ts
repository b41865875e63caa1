/** Anything that can be woken. */
export interface Runnable {
  run(): void;
}

/** The clock and the future: a binary heap of (time, order of scheduling), so equal times run first come, first served. */
export class EventQueue {
  /** Simulated time, whole ns since the start of the run. */
  now = 0;
  #times: number[] = [];
  #orders: number[] = [];
  #items: Runnable[] = [];
  #order = 0;

  at(time: number, item: Runnable): void {
    const times = this.#times;
    const orders = this.#orders;
    const items = this.#items;
    const order = this.#order++;
    let i = times.length;
    times.push(time);
    orders.push(order);
    items.push(item);
    while (i > 0) {
      const p = (i - 1) >> 1;
      if (times[p] <= time) break;
      times[i] = times[p];
      orders[i] = orders[p];
      items[i] = items[p];
      i = p;
    }
    times[i] = time;
    orders[i] = order;
    items[i] = item;
  }

  /** Runs until nothing is left or the next event is at `until` or later. */
  run(until = Number.POSITIVE_INFINITY): void {
    while (this.#times.length > 0 && this.#times[0] < until) {
      this.now = this.#times[0];
      const item = this.#items[0];
      this.#removeFirst();
      item.run();
    }
  }

  #removeFirst(): void {
    const times = this.#times;
    const orders = this.#orders;
    const items = this.#items;
    const time = times.pop() as number;
    const order = orders.pop() as number;
    const item = items.pop() as Runnable;
    const n = times.length;
    if (n === 0) return;
    let i = 0;
    for (;;) {
      let c = 2 * i + 1;
      if (c >= n) break;
      if (
        c + 1 < n &&
        (times[c + 1] < times[c] || (times[c + 1] === times[c] && orders[c + 1] < orders[c]))
      ) {
        c++;
      }
      if (times[c] > time || (times[c] === time && orders[c] > order)) break;
      times[i] = times[c];
      orders[i] = orders[c];
      items[i] = items[c];
      i = c;
    }
    times[i] = time;
    orders[i] = order;
    items[i] = item;
  }
}

/** A process written as a generator: `yield` means "wake me when whoever I told runs me". */
export class Task implements Runnable {
  readonly #body: Generator<void, void, void>;

  constructor(body: (self: Task) => Generator<void, void, void>) {
    this.#body = body(this);
  }

  run(): void {
    this.#body.next();
  }
}
