import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { ATTR_HOLD_DURATION_NS, ATTR_OUTCOME, waitSpanName } from '@waitfall/instrumentation/conventions';
import type { StepResult } from '../load/step-recorder.ts';

/** One request at a resource, from the service's own spans; epoch ns. */
export interface Visit {
  readonly askedNs: bigint;
  /** When its wait ended: with the resource, or without it. */
  readonly waitedUntilNs: bigint;
  /** When it gave the resource back; null where it never had it. */
  readonly releasedNs: bigint | null;
}

/** Means over the requests that got a resource, ns; null without any. */
export interface MeanVisit {
  readonly count: number;
  readonly meanWaitNs: number | null;
  readonly meanHoldNs: number | null;
}

interface SpanRecord {
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { key: string; value: { stringValue?: string; intValue?: string } }[];
}

/** Reads the visits to one resource from a file of OTLP JSON lines. */
export async function readVisits(file: string, resource: string): Promise<Visit[]> {
  const name = waitSpanName(resource);
  const visits: Visit[] = [];
  for await (const line of createInterface({ input: createReadStream(file) })) {
    if (!line.includes(name)) continue;
    for (const span of spansOf(line)) if (span.name === name) visits.push(visitOf(span));
  }
  return visits;
}

function visitOf(span: SpanRecord): Visit {
  const value = (key: string) => span.attributes.find((attribute) => attribute.key === key)?.value;
  const waitedUntilNs = BigInt(span.endTimeUnixNano);
  const acquired = value(ATTR_OUTCOME)?.stringValue === 'acquired';
  return {
    askedNs: BigInt(span.startTimeUnixNano),
    waitedUntilNs,
    releasedNs: acquired ? waitedUntilNs + BigInt(value(ATTR_HOLD_DURATION_NS)?.intValue ?? 0) : null,
  };
}

function spansOf(line: string): SpanRecord[] {
  const { resourceSpans } = JSON.parse(line) as {
    resourceSpans?: { scopeSpans: { spans: SpanRecord[] }[] }[];
  };
  return (resourceSpans ?? []).flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

/** @returns mean wait and hold of the visits that got the resource. */
export function meanVisit(visits: readonly Visit[]): MeanVisit {
  let count = 0;
  let waitNs = 0;
  let holdNs = 0;
  for (const { askedNs, waitedUntilNs, releasedNs } of visits) {
    if (releasedNs === null) continue;
    count++;
    waitNs += Number(waitedUntilNs - askedNs);
    holdNs += Number(releasedNs - waitedUntilNs);
  }
  return {
    count,
    meanWaitNs: count === 0 ? null : waitNs / count,
    meanHoldNs: count === 0 ? null : holdNs / count,
  };
}

/** @returns visits that ended with the work done while a step lasted, per second, whether or not anybody still wanted it. */
export function completedPerSecond(visits: readonly Visit[], step: StepResult): number {
  const [from, to] = [BigInt(step.startUnixNano), BigInt(step.endUnixNano)];
  const done = visits.filter(
    ({ releasedNs }) => releasedNs !== null && releasedNs >= from && releasedNs < to,
  );
  return done.length / secondsOf(step);
}

/** @returns how long a step lasted, s. */
export function secondsOf({ startUnixNano, endUnixNano }: StepResult): number {
  return Number(BigInt(endUnixNano) - BigInt(startUnixNano)) / 1e9;
}
