import type { Attributes, Link, SpanContext } from '@opentelemetry/api';
import {
  ATTR_BLOCKER_AGE_NS,
  ATTR_BLOCKER_STATE,
  ATTR_BLOCKER_STATEMENT,
  ATTR_LINK,
  ATTR_LINK_SAMPLES,
  LINK_BLOCKED_BY,
  MAX_BLOCKED_BY_LINKS,
} from '../../conventions.ts';
import { durationNs } from '../../core/clock.ts';

/** Who held up a waiter in the end, as it was first seen. */
export interface Holder {
  readonly pid: number;
  /** Span of its statement, where it is known; its trace may be of another process. */
  readonly span: SpanContext | undefined;
  readonly statement: string | undefined;
  readonly state: string | undefined;
  /** How long its transaction had been open. */
  readonly ageMs: number | undefined;
}

/** The holders one waiter was seen behind: on a row many want they change while it waits. */
export class Holders {
  readonly #seen = new Map<number, { holder: Holder; samples: number }>();

  get isEmpty(): boolean {
    return this.#seen.size === 0;
  }

  /** @param describe looks closer at a holder that was not seen before. */
  note(pid: number, describe: (pid: number) => Holder): void {
    const known = this.#seen.get(pid);
    if (known === undefined) this.#seen.set(pid, { holder: describe(pid), samples: 1 });
    else known.samples++;
  }

  /** Statement, state and age of the one seen first. */
  get attributes(): Attributes {
    const first = this.#seen.values().next().value?.holder;
    const attributes: Attributes = {};
    if (first?.statement !== undefined) attributes[ATTR_BLOCKER_STATEMENT] = first.statement;
    if (first?.state !== undefined) attributes[ATTR_BLOCKER_STATE] = first.state;
    if (first?.ageMs !== undefined) attributes[ATTR_BLOCKER_AGE_NS] = durationNs(0, first.ageMs);
    return attributes;
  }

  /** @returns links to the holders' spans, the last seen first; never into the waiter's own trace. */
  linksFrom(traceId: string | undefined): Link[] {
    const links: Link[] = [];
    for (const { holder, samples } of [...this.#seen.values()].reverse()) {
      const { span } = holder;
      if (span === undefined || span.traceId === traceId) continue;
      const last = links.at(-1);
      if (links.length === MAX_BLOCKED_BY_LINKS && last?.attributes !== undefined) {
        last.attributes[ATTR_LINK_SAMPLES] = (last.attributes[ATTR_LINK_SAMPLES] as number) + samples;
        continue;
      }
      links.push({
        context: span,
        attributes: { [ATTR_LINK]: LINK_BLOCKED_BY, [ATTR_LINK_SAMPLES]: samples },
      });
    }
    return links;
  }
}
