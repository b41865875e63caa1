import { ATTR_OUTCOME } from '@waitfall/instrumentation/conventions';
import { STATUS } from '../model/span.ts';
import { attributeById, attributeKey, type SpanTable } from '../model/span-table.ts';

/** HTTP status that proxies record for a client that went away before the response. */
const CLIENT_CLOSED_REQUEST = 499;

/**
 * @returns a test for "ended by error, abort or timeout, or its response was aborted": status ERROR, an `error.type`, a
 * `waitfall.outcome` other than `acquired`, or HTTP status 499. What such a span had started may go on after it without
 * having been waited for.
 */
export function endedEarly(table: SpanTable): (row: number) => boolean {
  const keys = [ATTR_OUTCOME, 'error.type', 'http.response.status_code', 'http.status_code'];
  const [outcome, errorType, status, oldStatus] = keys.map((key) => {
    const id = attributeKey(table, key);
    return (row: number) => (id < 0 ? undefined : attributeById(table, row, id));
  });
  return (row) => {
    if (table.status[row] === STATUS.error) return true;
    const type = errorType(row);
    if (type !== undefined && type !== null && type !== '') return true;
    const stated = outcome(row);
    if (stated === 'rejected' || stated === 'timeout' || stated === 'aborted') return true;
    return Number(status(row) ?? oldStatus(row)) === CLIENT_CLOSED_REQUEST;
  };
}
