import { duration } from '../../report/units.ts';
import type { Blocker, Session } from '../session.ts';
import { clean } from '../width.ts';
import { shortId } from './short-id.ts';

/** @returns who held the waiter up, in one line: trace, statement, how long it held. */
export function blockerText(blocker: Blocker, session: Session): string {
  const id = shortId(blocker.traceId);
  const what = clean(blocker.statement || blocker.name);
  const held = blocker.heldNs !== null ? `, held ${duration(blocker.heldNs)}` : '';
  if (blocker.trace < 0) return `${id} ${what} (not in the input)${held}`.replace('  ', ' ');
  const route = session.traces.routes[session.traces.route[blocker.trace]] ?? '';
  return `${id} ${what || clean(route)}${held}`;
}
