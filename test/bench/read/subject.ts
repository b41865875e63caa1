import { closeSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { attributesRead } from '../../../analyzer/src/infer/attributes-read.ts';
import { readInputs } from '../../../analyzer/src/read/index.ts';
import { decodeProto } from '../../analyzer/read/proto-oracle.ts';
import { QUERIES } from './duckdb.ts';

const keep = attributesRead(undefined, undefined);

interface Request {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly unknown[] }[];
  }[];
}

/** The work of one contender, run alone in a fresh process: `node subject.ts NAME FILE …`. */
const SUBJECTS: Readonly<Record<string, (path: string, ...more: string[]) => Promise<unknown>>> = {
  'JSON.parse': async (path) => {
    let spans = 0;
    for (const line of records(path, (bytes, at) => bytes.indexOf(10, at) + 1, 0))
      spans += countSpans(JSON.parse(line.toString('utf8')));
    return spans;
  },
  protobufjs: async (path) => {
    let spans = 0;
    for (const record of records(path, (bytes, at) => at + 4 + bytes.readUInt32BE(at), 4))
      spans += countSpans(decodeProto('TracesData', record.subarray(4)) as unknown as Request);
    return spans;
  },
  'read, what a report needs': (path) => readInputs([path], { keep, threads: 1 }),
  'the same, 2 threads': (path) => readInputs([path], { keep, threads: 2 }),
  'read, everything': (path) => readInputs([path], { threads: 1 }),
  'read, slow path': (path) => readInputs([path], { keep, parser: 'slow', threads: 1 }),
  DuckDB: async (path, what, threads, directory) => {
    const { DuckDBInstance } = createRequire(join(directory, 'index.js'))('@duckdb/node-api');
    const connection = await (await DuckDBInstance.create(':memory:', { threads })).connect();
    return (await connection.runAndReadAll(QUERIES[what](path))).getRows();
  },
};

function countSpans({ resourceSpans }: Request): number {
  let spans = 0;
  for (const batch of resourceSpans) for (const scope of batch.scopeSpans) spans += scope.spans.length;
  return spans;
}

const BLOCK_BYTES = 4 << 20;

/** The records of a file, read block by block: a peak of memory is then the contender's, not that of the file. */
function* records(
  path: string,
  endOf: (bytes: Buffer, at: number) => number,
  least: number,
): Generator<Buffer> {
  const file = openSync(path, 'r');
  let bytes = Buffer.alloc(0);
  for (;;) {
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    const read = readSync(file, block, 0, BLOCK_BYTES, null);
    if (read === 0) break;
    bytes = Buffer.concat([bytes, block.subarray(0, read)]);
    let at = 0;
    while (at + least <= bytes.length) {
      const end = endOf(bytes, at);
      if (end <= at || end > bytes.length) break;
      yield bytes.subarray(at, end);
      at = end;
    }
    bytes = bytes.subarray(at);
  }
  closeSync(file);
}

const [name, path, ...more] = process.argv.slice(2);
(globalThis as { startMeasuring?: () => void }).startMeasuring?.();
await SUBJECTS[name](path, ...more);
