import { InstrumentationBase } from '@opentelemetry/instrumentation';
import { SCOPE_NAME } from './conventions.ts';
import { VERSION } from './core/version.ts';
import type { WaitfallConfig } from './settings.ts';

/** Records waits, holds and row locks of `pg` and `pg-pool` beside any other instrumentation. */
export class WaitfallInstrumentation extends InstrumentationBase<WaitfallConfig> {
  constructor(config: WaitfallConfig = {}) {
    super(SCOPE_NAME, VERSION, config);
  }

  protected override init(): [] {
    return [];
  }
}
