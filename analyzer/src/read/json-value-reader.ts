import type { Position } from './collector.ts';
import { unknownReason } from './json-shapes.ts';
import { parseJson } from './parse-json.ts';

export interface JsonHandler {
  /** Takes one parsed value. Returns false when its format is unknown. */
  value(value: unknown, at: Position): boolean;
  /** Takes one value as bytes, ahead of JSON.parse, with {@link PADDING} behind. Returns false to have it parsed. */
  line?(buffer: Buffer, from: number, to: number): boolean;
  broken(at: Position, reason: string): void;
  /** The input ends inside `what`. */
  unfinished(at: Position, what: string): void;
}

/** The start of a line whose rest may stand at the beginning of the next file. */
export interface TornLine {
  /** The file it ends; set by who knows it. */
  readonly file?: string;
  readonly bytes: Buffer;
  readonly at: Position;
  /** Its complete records as a document, where the file holds nothing else. */
  readonly salvage: string | null;
}

/** Hands single JSON values over, counts them, and reports what is broken once. */
export class ValueReader {
  readonly #handler: JsonHandler;
  /** Debris of a broken document, reported as one. */
  #debris: { line: number; lastLine: number; reason: string } | null = null;
  /** 1-based line the value begins on. */
  line = 1;
  /** Values handed over so far. */
  values = 0;

  constructor(handler: JsonHandler) {
    this.#handler = handler;
  }

  get at(): Position {
    return { line: this.line };
  }

  /** Reads one value; its bytes first, as text only where nobody knows them. @returns false when it is no JSON. */
  read(bytes: Buffer, from: number, end: number): boolean {
    if (this.#handler.line?.(bytes, from, end)) {
      this.#good();
      return true;
    }
    return this.parse(bytes.toString('utf8', from, end));
  }

  /** @returns false when the text is no JSON. A value of unknown format is reported here. */
  parse(text: string): boolean {
    const fate = this.take(text);
    if (fate === 'known' || fate === 'invalid') return fate === 'known';
    if (this.#debris === null) this.broken(fate.unknown);
    else this.#debris.lastLine = this.line;
    return true;
  }

  take(text: string): 'known' | 'invalid' | { readonly unknown: string } {
    let value: unknown;
    try {
      value = parseJson(text);
    } catch {
      return 'invalid';
    }
    if (!this.#handler.value(value, this.at)) return { unknown: unknownReason(value) };
    this.#good();
    return 'known';
  }

  /** Counts values somebody else has read. */
  skip(values: number): void {
    if (values > 0) this.closeDebris();
    this.values += values;
  }

  broken(reason: string, at: Position = this.at): void {
    this.#handler.broken(at, reason);
  }

  unfinished(at: Position, what: string): void {
    this.#handler.unfinished(at, what);
  }

  get hasDebris(): boolean {
    return this.#debris !== null;
  }

  openDebris(line: number, lastLine: number, reason: string): void {
    this.#debris = { line, lastLine, reason };
  }

  /** The debris goes on up to a line. */
  debrisUpTo(line: number): void {
    if (this.#debris !== null) this.#debris.lastLine = line;
  }

  /** Forgets debris of this reason, which is told otherwise. @returns whether there was any. */
  dropDebris(reason: string): boolean {
    if (this.#debris?.reason !== reason) return false;
    this.#debris = null;
    return true;
  }

  closeDebris(): void {
    const debris = this.#debris;
    if (debris === null) return;
    this.#debris = null;
    const more = debris.lastLine > debris.line ? ` (with the lines up to ${debris.lastLine})` : '';
    this.broken(`${debris.reason}${more}`, { line: debris.line });
  }

  #good(): void {
    this.closeDebris();
    this.values++;
  }
}
