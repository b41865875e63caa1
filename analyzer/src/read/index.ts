import { createReadStream, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Input } from '../model/input.ts';
import { Collector } from './collector.ts';
import { readJsonValue } from './json-shapes.ts';
import { parseJson } from './parse-json.ts';

export interface ReadOptions {
  /** What `-` reads; the process's standard input by default. */
  readonly stdin?: AsyncIterable<Uint8Array>;
}

/** Reads trace exports of any make: files, directories and `-` for standard input. */
export async function readInputs(paths: readonly string[], options: ReadOptions = {}): Promise<Input> {
  const collector = new Collector();
  for (const path of paths.flatMap(expand)) {
    collector.openFile(path);
    const source = path === '-' ? (options.stdin ?? process.stdin) : createReadStream(path);
    await readJsonLines(source, collector);
  }
  return collector.finish();
}

const NOT_EXPORTS = /^(manifest|invariants|report.*)\.json$|^resources\.jsonl$|\.(md|html|txt)$|^\./;

function expand(path: string): string[] {
  if (path === '-' || !statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .filter((name) => !NOT_EXPORTS.test(name))
    .sort()
    .map((name) => join(path, name));
}

async function readJsonLines(source: AsyncIterable<Uint8Array>, collector: Collector): Promise<void> {
  let bytes = 0;
  let rest = Buffer.alloc(0);
  let whole = true;
  let line = 0;
  let format: string | null = null;
  const read = (text: string) => {
    if (text.trim() === '') return true;
    try {
      format = readJsonValue(parseJson(text), collector, { line }) ?? format;
      return true;
    } catch {
      return false;
    }
  };
  for await (const chunk of source) {
    bytes += chunk.length;
    rest = Buffer.concat([rest, chunk]);
    if (line === 0 && !whole) continue;
    let end = rest.indexOf(10);
    for (; end >= 0; end = rest.indexOf(10)) {
      if (!read(rest.toString('utf8', 0, end).replace(/^\ufeff/, ''))) {
        if (line === 0) {
          whole = false;
          break;
        }
        collector.reject({ line: line + 1 }, 'not JSON');
      }
      line++;
      rest = rest.subarray(end + 1);
    }
  }
  if (!read(rest.toString('utf8').replace(/^\ufeff/, ''))) collector.reject({ line: line + 1 }, 'not JSON');
  collector.closeFile(format ?? 'unknown', bytes, collector.spansOfFile === 0 ? 'no spans' : null);
}
