import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import type { SegmentName } from '../../classify/types.ts';

/** @returns the colour of a part of a hold: its segment when it names one, else that of a statement. */
export function colorOfPart(what: string): SegmentName {
  const named = SEGMENTS.find((segment) => what === segment || what.startsWith(`${segment} `));
  return named ?? 'downstream';
}
