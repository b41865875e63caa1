import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { ATTR_HOLD_DURATION_NS, ATTR_OUTCOME, waitSpanName } from '@waitfall/instrumentation/conventions';

/** Means over the requests that got a resource, from the service's own spans, ns; null without any. */
export interface MeanWait {
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

/** Reads the waits for one resource from a file of OTLP JSON lines. */
export async function readWaits(file: string, resource: string): Promise<MeanWait> {
  const name = waitSpanName(resource);
  let count = 0;
  let waitNs = 0;
  let holdNs = 0;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    if (!line.includes(name)) continue;
    for (const span of spansOf(line)) {
      if (span.name !== name) continue;
      const value = (key: string) => span.attributes.find((attribute) => attribute.key === key)?.value;
      if (value(ATTR_OUTCOME)?.stringValue !== 'acquired') continue;
      count++;
      waitNs += Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano));
      holdNs += Number(value(ATTR_HOLD_DURATION_NS)?.intValue ?? 0);
    }
  }
  return {
    count,
    meanWaitNs: count === 0 ? null : waitNs / count,
    meanHoldNs: count === 0 ? null : holdNs / count,
  };
}

function spansOf(line: string): SpanRecord[] {
  const { resourceSpans } = JSON.parse(line) as {
    resourceSpans?: { scopeSpans: { spans: SpanRecord[] }[] }[];
  };
  return (resourceSpans ?? []).flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}
