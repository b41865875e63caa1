import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { analyze, buildReport, readInputs } from '../../../analyzer/src/index.ts';
import { decodeProto } from '../../analyzer/read/proto-oracle.ts';

/** One contender of the comparison, run alone in a fresh process: `node subject.ts NAME FILE`. */
const SUBJECTS: Readonly<Record<string, (path: string) => Promise<number>>> = {
  'JSON.parse': async (path) => {
    const bytes = readFileSync(path);
    let spans = 0;
    for (let from = 0, to = bytes.indexOf(10); to >= 0; from = to + 1, to = bytes.indexOf(10, from)) {
      const request = JSON.parse(bytes.toString('utf8', from, to));
      for (const batch of request.resourceSpans)
        for (const scope of batch.scopeSpans) spans += scope.spans.length;
    }
    return spans;
  },
  read: async (path) => (await readInputs([path])).table.length,
  'read, slow path': async (path) => (await readInputs([path], { parser: 'slow' })).table.length,
  report: async (path) => {
    const input = await readInputs([path]);
    buildReport(analyze(input, { toleranceNs: 1_000_000 }));
    return input.table.length;
  },
  protobufjs: async (path) => {
    const bytes = readFileSync(path);
    let spans = 0;
    for (let at = 0; at < bytes.length; ) {
      const end = at + 4 + bytes.readUInt32BE(at);
      const request = decodeProto('TracesData', bytes.subarray(at + 4, end)) as unknown as Request;
      for (const batch of request.resourceSpans)
        for (const scope of batch.scopeSpans) spans += scope.spans.length;
      at = end;
    }
    return spans;
  },
  'DuckDB count': async (path) => Number(await duckDb(`SELECT count(*) FROM (${DUCK_SPANS(path)})`)),
  'DuckDB self time': async (path) => Number(await duckDb(`SELECT count(*) FROM (${DUCK_SELF_TIME(path)})`)),
};

interface Request {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly unknown[] }[];
  }[];
}

function DUCK_SPANS(path: string): string {
  const spans = `SELECT unnest(s.spans) AS span FROM (SELECT unnest(r.scopeSpans) AS s FROM (SELECT unnest(resourceSpans) AS r FROM lines))`;
  return `WITH lines AS (SELECT * FROM read_json('${path}', format = 'newline_delimited', maximum_object_size = 67108864, columns = {resourceSpans: 'STRUCT(scopeSpans STRUCT(spans STRUCT(traceId VARCHAR, spanId VARCHAR, parentSpanId VARCHAR, name VARCHAR, startTimeUnixNano VARCHAR, endTimeUnixNano VARCHAR)[])[])[]'})) ${spans}`;
}

/** Weaker than what the analysis does: children are clipped to their parent, but may overlap each other. */
function DUCK_SELF_TIME(path: string): string {
  return `WITH spans AS (SELECT span.traceId AS t, span.spanId AS id, span.parentSpanId AS p, span.name AS name, span.startTimeUnixNano::BIGINT AS s, span.endTimeUnixNano::BIGINT AS e FROM (${DUCK_SPANS(path)})),
    children AS (SELECT c.t, c.p AS id, sum(greatest(0, least(c.e, a.e) - greatest(c.s, a.s))) AS inside FROM spans c JOIN spans a ON a.t = c.t AND a.id = c.p GROUP BY ALL)
    SELECT name, sum(e - s - coalesce(inside, 0)) FROM spans LEFT JOIN children USING (t, id) GROUP BY name`;
}

/** Not a dependency: compared with where somebody has installed it. */
async function duckDb(sql: string): Promise<unknown> {
  const { DuckDBInstance } = createRequire(import.meta.url)('@duckdb/node-api');
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
  const rows = await (await connection.runAndReadAll(sql)).getRows();
  return rows[0][0];
}

const [name, path] = process.argv.slice(2);
// What Node needs to start and to strip types is nobody's merit.
const before = process.cpuUsage();
const started = performance.now();
const spans = await SUBJECTS[name](path);
const { user, system } = process.cpuUsage(before);
console.log(
  JSON.stringify({
    spans,
    wallMs: performance.now() - started,
    cpuMs: (user + system) / 1000,
    peakMb: process.resourceUsage().maxRSS / 1024,
  }),
);
