import { ATTR_OUTCOME } from '@waitfall/instrumentation/conventions';
import { STATUS } from '../model/span.ts';
import { attributeById, type SpanTable } from '../model/span-table.ts';

/**
 * @returns a test for "ended by error, abort or timeout": status ERROR, an `error.type`, or a `waitfall.outcome`
 * other than `acquired`. What such a span had started may go on after it without having been waited for.
 */
export function endedEarly(table: SpanTable): (row: number) => boolean {
  const outcome = table.strings.find(ATTR_OUTCOME);
  const errorType = table.strings.find('error.type');
  return (row) => {
    if (table.status[row] === STATUS.error) return true;
    if (errorType >= 0) {
      const type = attributeById(table, row, errorType);
      if (type !== undefined && type !== null && type !== '') return true;
    }
    if (outcome < 0) return false;
    const stated = attributeById(table, row, outcome);
    return stated === 'rejected' || stated === 'timeout' || stated === 'aborted';
  };
}
