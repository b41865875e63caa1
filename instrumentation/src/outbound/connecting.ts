import type { Context } from '@opentelemetry/api';
import type { OutboundCall } from './outbound-call.ts';

/** The call that is being handed to its agent right now: a connection that is opened meanwhile is opened for it. */
let handingOver: OutboundCall | undefined;

export function openingFor<T>(call: OutboundCall, handOver: () => T): T {
  const outer = handingOver;
  handingOver = call;
  try {
    return handOver();
  } finally {
    handingOver = outer;
  }
}

/** @returns where something belongs that happens within the opening of a connection, such as its name lookup. */
export function openingContext(): Context | undefined {
  return handingOver?.connectionContext();
}
