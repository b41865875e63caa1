import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = fileURLToPath(new URL('../../../collector-config/_build/otelcol-waitfall', import.meta.url));

/** The collector to test with: OTELCOL_BIN, else the one that `npm run collector:build` made; null without either. */
export const collectorBinary: string | null =
  process.env['OTELCOL_BIN'] || (existsSync(built) ? built : null);

/** For `test(name, { skip }, …)`: false where a collector is there, else what to do about it. */
export const skipWithoutCollector: string | false =
  collectorBinary === null
    ? 'needs a collector: run `npm run collector:build` (needs Go) or set OTELCOL_BIN to otelcol-contrib'
    : false;

/** Tail sampling writes its threshold and its policy only behind these. */
export const SAMPLING_GATES =
  '--feature-gates=processor.tailsamplingprocessor.usetracestate,processor.tailsamplingprocessor.recordpolicy';
