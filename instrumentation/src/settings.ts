/** Everything that can be configured, by the constructor or by `WAITFALL_*` variables; the constructor wins. */
export interface WaitfallConfig {
  /** `WAITFALL_ENABLED`. Default true. */
  enabled?: boolean;
  pg?: {
    /** Waits for a pool slot and for new connections, and holds. `WAITFALL_PG_POOL`. Default true. */
    pool?: boolean;
    /** Row locks read from statement texts; sends no SQL. `WAITFALL_PG_ROW_LOCKS`. Default true. */
    rowLocks?: boolean;
    /** Secret that lock keys are hashed with. `WAITFALL_LOCK_SALT`. Default: derived from database host and name. */
    lockSalt?: string;
  };
  /** Shortest wait that becomes a span, ms; shorter ones only count in the root's sums. `WAITFALL_MIN_WAIT_MS`. Default 0.2. */
  minWaitMs?: number;
}
