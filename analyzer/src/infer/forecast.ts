import type { Frame, QueueModel } from '../aggregate/queue-model.ts';

/** The queue that will saturate next, and the rate at which the service will stop keeping up. */
export interface Forecast {
  readonly model: QueueModel;
  readonly perSecond: number;
  /** Set when waits for the event loop inside this queue's holds bring the limit below every R. */
  readonly stretched: QueueModel | null;
}

/** As in rule 7a: with less own service than this, the queue that stretches the hold is the cause. */
const OWN = 0.65;
const STEPS = 40;

/**
 * Forecast from windows below the knee: the lowest R, or less where the event loop stretches a hold. Everything waits
 * for the loop at the offered rate, so its waits grow like ρ / (1 − ρ) (M/G/1), ρ = rate / R of the loop, whatever the
 * queue around them does; a queue with such waits nested in its holds is full where
 * rate × (own demand + nested waits at that rate) = capacity.
 */
export function forecast(models: readonly QueueModel[], frame: Frame): Forecast | null {
  const lowest = models.find((model) => model.saturatesAt !== null);
  if (!lowest) return null;
  let best: Forecast = { model: lowest, perSecond: lowest.saturatesAt!, stretched: null };
  for (const loop of models) {
    if (loop.kind !== 'eventloop' || loop.saturatesAt === null) continue;
    for (const model of models) {
      if (model === loop || model.capacity === null || model.demandNs <= 0 || model.kind === 'downstream')
        continue;
      const rate = fullAt(model, loop, frame);
      if (rate === null || rate >= best.perSecond) continue;
      const own = (rate * model.demandNs) / 1e9 / model.capacity;
      best = { model: own >= OWN ? model : loop, perSecond: rate, stretched: model };
    }
  }
  return best;
}

/** Rate at which a queue is full with the loop's waits inside its holds; null when they play no part. */
function fullAt(model: QueueModel, loop: QueueModel, frame: Frame): number | null {
  const nested = model.lane.nestedNs.get(loop.queue.index);
  const limit = loop.saturatesAt!;
  if (!nested) return null;
  let ng = 0;
  let gg = 0;
  for (const w of frame.pre) {
    const { arrivalsPerSecond, requests } = frame.timeline.windows[w];
    const load = arrivalsPerSecond / limit;
    if (requests === 0 || load >= 1) continue;
    const g = load / (1 - load);
    ng += (nested[w] / requests) * g * requests;
    gg += g * g * requests;
  }
  if (ng <= 0) return null;
  const perG = ng / gg;
  let low = 0;
  let high = limit;
  for (let i = 0; i < STEPS; i++) {
    const rate = (low + high) / 2;
    const load = rate / limit;
    const busy = (rate * (model.demandNs + (perG * load) / (1 - load))) / 1e9;
    if (busy < model.capacity!) low = rate;
    else high = rate;
  }
  return low;
}
