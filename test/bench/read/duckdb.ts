import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Compared with, never depended on. */
export const DUCKDB = '@duckdb/node-api@1.5.6-r.1';

/** Installs DuckDB into a directory of its own. @returns the directory; null where that is not possible. */
export function installDuckDb(directory: string): string | null {
  if (!existsSync(join(directory, 'node_modules/@duckdb/node-api'))) {
    mkdirSync(directory, { recursive: true });
    const args = ['install', '--silent', '--no-audit', '--no-fund', '--prefix', directory, DUCKDB];
    const install = spawnSync('npm', args, { stdio: 'ignore', timeout: 300_000 });
    if (install.status !== 0) return null;
  }
  return directory;
}

function spansOf(path: string): string {
  const spans = `SELECT unnest(s.spans) AS span FROM (SELECT unnest(r.scopeSpans) AS s FROM (SELECT unnest(resourceSpans) AS r FROM lines))`;
  return `WITH lines AS (SELECT * FROM read_json('${path}', format = 'newline_delimited', maximum_object_size = 67108864, columns = {resourceSpans: 'STRUCT(scopeSpans STRUCT(spans STRUCT(traceId VARCHAR, spanId VARCHAR, parentSpanId VARCHAR, name VARCHAR, startTimeUnixNano VARCHAR, endTimeUnixNano VARCHAR)[])[])[]'})) ${spans}`;
}

/** Self time by span name. Weaker than what the analysis does: children are clipped to their parent, but may overlap. */
function selfTime(path: string): string {
  return `WITH spans AS (SELECT span.traceId AS t, span.spanId AS id, span.parentSpanId AS p, span.name AS name, span.startTimeUnixNano::BIGINT AS s, span.endTimeUnixNano::BIGINT AS e FROM (${spansOf(path)})),
    children AS (SELECT c.t, c.p AS id, sum(greatest(0, least(c.e, a.e) - greatest(c.s, a.s))) AS inside FROM spans c JOIN spans a ON a.t = c.t AND a.id = c.p GROUP BY ALL)
    SELECT name, sum(e - s - coalesce(inside, 0)) FROM spans LEFT JOIN children USING (t, id) GROUP BY name`;
}

/** SQL by what it answers. */
export const QUERIES: Readonly<Record<string, (path: string) => string>> = {
  count: (path) => `SELECT count(*) FROM (${spansOf(path)})`,
  'self time': selfTime,
};
