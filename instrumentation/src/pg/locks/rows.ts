import { createHmac } from 'node:crypto';
import { warnOnce } from '../../core/warn.ts';
import { rowKeys } from '../sql/keys.ts';
import type { LockClause } from '../sql/plan.ts';
import { type LockHold, Row } from './row.ts';

const MAX_ROWS = 10_000;
const MIN_CONTRADICTIONS = 3;
/** Replies that overtake each other on a starved machine look like contradictions too: they are rarer than this. */
const MAX_CONTRADICTED_SHARE = 0.02;

/** What was seen of the keys of one relation and its columns. */
interface Family {
  /** Rows that went from one holder to the next. */
  handovers: number;
  /** Rows that two had at once: then the key names none. */
  contradictions: number;
  givenUp: boolean;
}

/** The rows of one database that this process locks or wants to lock. */
export class DatabaseRows {
  readonly #database: string;
  readonly #salt: string;
  readonly #rows = new Map<string, Row>();
  readonly #families = new Map<string, Family>();

  constructor(host: string, database: string, salt: string | undefined) {
    this.#database = database;
    this.#salt = salt ?? `${host}/${database}`;
  }

  /** @returns the rows a clause locks with these values; none where they cannot be told. */
  find(lock: LockClause, values: readonly unknown[] | undefined): Row[] {
    const keys = rowKeys(lock, values);
    if (keys === null || lock.key === null) return [];
    const family = `${lock.relation}(${lock.key.map((part) => part.column).join(', ')})`;
    if (this.#families.get(family)?.givenUp === true) return [];
    if (lock.guessed === true) {
      // Only a row that somebody holds can be waited for.
      const known = keys.map((key) => this.#rows.get(key));
      return known.filter((row) => row !== undefined && row.holds.length > 0) as Row[];
    }
    return keys.map((key) => this.#row(lock, family, key));
  }

  /** @returns the 64-bit keyed hash that stands for a row in exports. */
  hashOf(row: Row): string {
    row.hash ??= createHmac('sha256', this.#salt)
      .update(`${this.#database}\0${row.key}`)
      .digest('hex')
      .slice(0, 16);
    return row.hash;
  }

  /** A row went from one holder to another, as rows do. */
  handedOver(row: Row): void {
    this.#family(row.family).handovers++;
  }

  /**
   * Two transactions had one row at the same time: its key names no row. Where that happens more than now and then,
   * its family is given up.
   */
  contradict(holds: readonly LockHold[]): void {
    const name = holds[0].row.family;
    const family = this.#family(name);
    for (const hold of holds) hold.contradicted = true;
    family.contradictions++;
    const seen = family.contradictions + family.handovers;
    if (family.contradictions < MIN_CONTRADICTIONS || family.contradictions <= MAX_CONTRADICTED_SHARE * seen)
      return;
    family.givenUp = true;
    warnOnce(`lock-family ${name}`, `${name} does not identify rows: its locks are not recorded any more`);
  }

  #family(name: string): Family {
    let family = this.#families.get(name);
    if (family === undefined) {
      family = { handovers: 0, contradictions: 0, givenUp: false };
      this.#families.set(name, family);
    }
    return family;
  }

  #row(lock: LockClause, family: string, key: string): Row {
    let row = this.#rows.get(key);
    if (row !== undefined) return row;
    if (this.#rows.size >= MAX_ROWS) this.#evict();
    row = new Row(lock.relation, family, key, lock.identifies);
    this.#rows.set(key, row);
    return row;
  }

  /** Rows nobody holds or wants go, oldest first; those in use stay even beyond the limit. */
  #evict(): void {
    let surplus = MAX_ROWS / 10;
    for (const [key, row] of this.#rows) {
      if (!row.isIdle) continue;
      this.#rows.delete(key);
      if (--surplus === 0) return;
    }
  }
}
