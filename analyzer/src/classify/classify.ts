import {
  ATTR_OUTCOME,
  ATTR_RESOURCE,
  ATTR_SEGMENT,
  OUTCOMES,
  SEGMENTS,
  WAIT_SEGMENTS,
} from '@waitfall/instrumentation/conventions';
import { AttributeReader } from '../model/attribute-reader.ts';
import { Names } from '../model/names.ts';
import { KIND, STATUS } from '../model/span.ts';
import type { SpanTable } from '../model/span-table.ts';
import { type Forest, STATE } from '../tree/types.ts';
import { destinationReader, KNOWN_NAMES, type KnownName, peerReader } from './known-names.ts';
import type { Rules } from './rules.ts';
import { supersededRows } from './superseded.ts';
import type { Classes, SegmentName } from './types.ts';

const INDEX = new Map<string, number>(SEGMENTS.map((name, i) => [name, i]));
/** Waits come first in SEGMENTS. */
const WAITS = WAIT_SEGMENTS.length;

/** @returns the index of a segment in SEGMENTS. */
export function segmentIndex(name: SegmentName): number {
  return INDEX.get(name) as number;
}

/** @returns whether a segment (as an index) is a wait. */
export function isWait(segment: number): boolean {
  return segment < WAITS;
}

/**
 * Says of every span what the time it owns means; the first that matches wins:
 * 1. attribute `waitfall.segment`;
 * 2. the user's rules, in their order;
 * 3. known names of other instrumentations ({@link KNOWN_NAMES}); where the same wait is also stated by a span of its own
 *    ({@link supersededRows}), what is left of such a span is `unaccounted`;
 * 4. CLIENT: `network` when it has a SERVER child, else `downstream`; resource `server.address[:port]`, else the peer
 *    service;
 * 5. PRODUCER, CONSUMER: `messaging`;
 * 6. any other kind in a service other than the root's: `downstream` with that service as resource;
 * 7. in the root's own service: `unaccounted`.
 */
export function classify(
  table: SpanTable,
  forest: Forest,
  rules?: Rules,
  names: Names = new Names(),
): Classes {
  const classes = {
    segment: new Uint8Array(table.length).fill(segmentIndex('unaccounted')),
    resource: new Int32Array(table.length).fill(-1),
    resources: names.list,
    inferred: new Uint8Array(table.length),
    waitOutcome: new Uint8Array(table.length),
  };
  let lastName = '';
  let lastNumber = -1;
  const set = (row: number, segment: number, resource: string): void => {
    classes.segment[row] = segment;
    if (resource === '') return;
    // The same name often comes again at once.
    if (resource !== lastName) {
      lastName = resource;
      lastNumber = names.of(resource);
    }
    classes.resource[row] = lastNumber;
  };
  const stated = statedReader(table);
  const ruled = rules?.reader(table);
  const known = knownNames(table);
  const peer = peerReader(table);
  const destination = destinationReader(table);
  const servedBy = clientsWithServer(forest);
  const outcome = outcomeReader(table);
  const superseded = supersededRows(
    table,
    forest,
    (row) => {
      const name = known.get(table.name[row]);
      return name === undefined || stated.segment(row) >= 0 ? -1 : segmentIndex(name.segment);
    },
    (row) => {
      const segment = stated.segment(row);
      return isWait(segment) ? segment : -1;
    },
  );
  for (let row = 0; row < table.length; row++) {
    if (forest.state[row] === STATE.dropped) continue;
    const segment = stated.segment(row);
    const resource = stated.resource(row, segment);
    if (forest.state[row] === STATE.hold) {
      set(row, segmentIndex('unaccounted'), resource);
    } else if (segment >= 0) {
      set(row, segment, resource);
    } else {
      classes.inferred[row] = 1;
      const rule = ruled?.(row);
      const name = rule === undefined ? known.get(table.name[row]) : undefined;
      if (rule !== undefined) set(row, segmentIndex(rule.segment), rule.resource || resource);
      else if (superseded.has(row)) set(row, segmentIndex('unaccounted'), '');
      else if (name !== undefined) set(row, segmentIndex(name.segment), name.resource(peer(row)));
      else byKind(row, resource);
    }
    if (isWait(classes.segment[row])) classes.waitOutcome[row] = outcome(row);
  }
  return classes;

  function byKind(row: number, resource: string): void {
    const kind = table.kind[row];
    if (kind === KIND.client) {
      const segment = servedBy[row] ? 'network' : 'downstream';
      set(row, segmentIndex(segment), resource || peer(row).address);
    } else if (kind === KIND.producer || kind === KIND.consumer) {
      set(row, segmentIndex('messaging'), resource || destination(row));
    } else {
      const service = table.resources[table.resource[row]].service;
      const tree = forest.treeOf[row];
      const root = tree < 0 ? row : forest.trees[tree].root;
      if (service === table.resources[table.resource[root]].service) {
        set(row, segmentIndex('unaccounted'), resource);
      } else {
        set(row, segmentIndex('downstream'), service);
      }
    }
  }
}

/** Reads `waitfall.segment` (-1: none that can own time) and `waitfall.resource` (else from `wait_for <resource>`). */
function statedReader(table: SpanTable): {
  segment: (row: number) => number;
  resource: (row: number, segment: number) => string;
} {
  const segments = new AttributeReader(table, ATTR_SEGMENT);
  const resources = new AttributeReader(table, ATTR_RESOURCE);
  /** By string id. */
  const known = new Map<number, number>();
  return {
    segment(row) {
      const id = segments.textId(row);
      if (id < 0) return -1;
      let segment = known.get(id);
      if (segment === undefined) known.set(id, (segment = INDEX.get(table.strings.text(id)) ?? -1));
      return segment;
    },
    resource(row, segment) {
      const resource = resources.text(row);
      if (resource !== '') return resource;
      const name = table.strings.text(table.name[row]);
      return isStatedWait(segment) && name.startsWith('wait_for ') ? name.slice(9).trim() : '';
    },
  };
}

function isStatedWait(segment: number): boolean {
  return segment >= 0 && isWait(segment);
}

/** KNOWN_NAMES by string id of this table. */
function knownNames(table: SpanTable): Map<number, KnownName> {
  const byId = new Map<number, KnownName>();
  for (const [name, meaning] of KNOWN_NAMES) {
    const id = table.strings.find(name);
    if (id >= 0) byId.set(id, meaning);
  }
  return byId;
}

/** @returns 1 for CLIENT rows with a SERVER child in their tree. */
function clientsWithServer({ table, order, parent }: Forest): Uint8Array {
  const has = new Uint8Array(table.length);
  for (let at = 0; at < order.length; at++) {
    const row = order[at];
    const above = parent[row];
    if (above >= 0 && table.kind[row] === KIND.server && table.kind[above] === KIND.client) has[above] = 1;
  }
  return has;
}

/**
 * How the attempt of a wait ended: `waitfall.outcome`; a wait that states none but has status ERROR timed out when its
 * error or status message says so, else was aborted.
 */
function outcomeReader(table: SpanTable): (row: number) => number {
  const outcomes = new AttributeReader(table, ATTR_OUTCOME);
  const errors = new AttributeReader(table, 'error.type');
  return (row) => {
    const stated = (OUTCOMES as readonly unknown[]).indexOf(outcomes.value(row));
    if (stated >= 0) return stated + 1;
    if (table.status[row] !== STATUS.error) return 0;
    const why = `${errors.value(row) ?? ''} ${table.strings.text(table.statusMessage[row])}`;
    return OUTCOMES.indexOf(/time.?out|timed out/i.test(why) ? 'timeout' : 'aborted') + 1;
  };
}
