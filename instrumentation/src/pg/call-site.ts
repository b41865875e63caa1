import { relative } from 'node:path';

/** One acquire of so many leaves a trace of who asked: in pools whose slots are held long, and in others. */
const SAMPLE_EVERY_LONG = 64;
const SAMPLE_EVERY = 1_024;
/** Frames that are looked through for the first one of the service's own. */
const MAX_FRAMES = 16;
const FRAME = /^\s*at (?:(?:async )?(.*?) \()?(?:file:\/\/)?([^()]*?):(\d+):(\d+)\)?$/;
const PACKAGE = /[\\/]node_modules[\\/]/;

let acquires = 0;

/** Where a connection was asked for; the stack is read only when it is wanted. */
export class CallSite {
  readonly #trace: { stack?: string } = {};

  constructor() {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = MAX_FRAMES;
    Error.captureStackTrace(this.#trace, CallSite);
    Error.stackTraceLimit = limit;
  }

  /** @returns `function (file:line:column)` of the service, its file from the working directory on. */
  toString(): string | undefined {
    for (const line of (this.#trace.stack ?? '').split('\n').slice(1)) {
      const match = FRAME.exec(line);
      if (match === null) continue;
      const [, name, file, row, column] = match;
      if (file.startsWith('node:') || PACKAGE.test(file) || file.startsWith(OWN)) continue;
      const where = `${relative(process.cwd(), file)}:${row}:${column}`;
      return name ? `${name} (${where})` : where;
    }
    return undefined;
  }
}

/** This package's directory. */
const OWN = import.meta.dirname.replace(/[\\/]pg$/, '');

/**
 * @param isLong slots of the pool are mostly held long.
 * @returns where the caller of the caller stands, for a small share of the calls: a stack costs far more than a wait.
 */
export function sampledCallSite(isLong: boolean): CallSite | undefined {
  acquires++;
  return acquires % (isLong ? SAMPLE_EVERY_LONG : SAMPLE_EVERY) === 1 ? new CallSite() : undefined;
}
