/** What one poll says of one server process. */
export interface ActivityRow {
  readonly pid: number;
  /** Null where the role may not see what the process does. */
  readonly state: string | null;
  readonly wait_event_type: string | null;
  readonly wait_event: string | null;
  /** Text of its last statement; null for those that wait, unless asked for. */
  readonly query: string | null;
  readonly application_name: string | null;
  /** Epoch ms of the server's clock. */
  readonly query_start_ms: number | null;
  readonly xact_start_ms: number | null;
  /** Set where it waits for a lock. */
  readonly locktype: string | null;
  readonly mode: string | null;
  readonly relation: string | null;
  readonly wait_start_ms: number | null;
  /** Whom it waits for: who holds the lock, and who stands before it in the queue. 0 is a prepared transaction. */
  readonly blockers: readonly number[] | null;
  readonly clock_ms: number;
}

/** More waiters than this are not looked at one by one. */
const MAX_WAITERS = 100;
/** `track_activity_query_size` is 1024 by default; what is behind that is cut off anyway. */
const MAX_TEXT = 1_024;

/**
 * One look at the server: the processes asked for ($1), every process of the cluster that waits for a lock, and
 * those they wait for. Texts of those that wait are only sent where $2 says so. The lock table is read once. Valid from PostgreSQL 14 on (`waitstart`).
 *
 * A wait for a row is a wait for a transaction; which table it is about stands in the tuple lock that the first
 * in line holds.
 */
export const LOCK_QUERY = `
WITH locks AS MATERIALIZED (
  SELECT pid, locktype, mode, granted, relation, waitstart
  FROM pg_catalog.pg_locks
  WHERE NOT granted OR locktype = 'tuple'
), waiter AS MATERIALIZED (
  SELECT DISTINCT ON (pid) pid, locktype, mode, relation, waitstart
  FROM locks WHERE NOT granted
  ORDER BY pid LIMIT ${MAX_WAITERS}
), edge AS MATERIALIZED (
  SELECT pid, pg_catalog.pg_blocking_pids(pid) AS blockers FROM waiter
), wanted AS (
  SELECT pid FROM unnest($1::int4[]) AS asked (pid)
  UNION SELECT pid FROM waiter
  UNION SELECT unnest(blockers) FROM edge
)
SELECT a.pid, a.state, a.wait_event_type, a.wait_event, a.application_name,
  CASE WHEN $2 OR w.pid IS NULL THEN left(a.query, ${MAX_TEXT}) END AS query,
  (extract(epoch FROM a.query_start) * 1000)::float8 AS query_start_ms,
  (extract(epoch FROM a.xact_start) * 1000)::float8 AS xact_start_ms,
  w.locktype, w.mode, c.relname AS relation,
  (extract(epoch FROM w.waitstart) * 1000)::float8 AS wait_start_ms,
  e.blockers,
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS clock_ms
FROM wanted
JOIN pg_catalog.pg_stat_activity a ON a.pid = wanted.pid
LEFT JOIN waiter w ON w.pid = wanted.pid
LEFT JOIN edge e ON e.pid = wanted.pid
LEFT JOIN pg_catalog.pg_class c ON c.oid = coalesce(w.relation,
  (SELECT t.relation FROM locks t WHERE t.pid = w.pid AND t.granted AND t.locktype = 'tuple' LIMIT 1))`;

/** Whether the connection leads to the process it was told, and which server it is. */
export const CHECK_QUERY = `
SELECT pg_backend_pid() AS pid, current_setting('server_version_num')::int AS version`;

/** Two numbers of ours under which one process of a database takes the lead. */
export const LEAD_QUERY = 'SELECT pg_try_advisory_lock(1463896653, 1) AS leads';
