/** Writes one simulated run as files: `node --conditions=waitfall-source test/sim/write.ts SEED DIRECTORY [spans]`. */
import { writeFileSync } from 'node:fs';
import { traceIdOf } from './export/identity.ts';
import { writeOtlp } from './export/index.ts';
import { type ExportOptions, FULL_EXPORT } from './export/types.ts';
import { blueprint } from './generate.ts';
import { simulate } from './simulate.ts';
import { measureTruth } from './truth.ts';

const [seed, directory, spans = 'waitfall'] = process.argv.slice(2);
if (directory === undefined || !['waitfall', 'both', 'official'].includes(spans)) {
  console.error('usage: write.ts SEED DIRECTORY [waitfall|both|official]');
  process.exit(2);
}
const print = blueprint(Number(seed));
const { truth, scenario } = measureTruth(print, { requests: 4000, planned: 2500, whatIf: true });
const run = simulate(scenario, { record: true, stopAtEnd: false });
await writeOtlp(run, { ...FULL_EXPORT, spans: spans as ExportOptions['spans'] }, directory);
const accounting = run.requests.map(({ id, outcome, ledger }) => ({
  traceId: traceIdOf(scenario.seed, id),
  outcome,
  segmentsNs: ledger?.toObject(),
}));
// Beside the directory, not in it: what reads the run must not see the answers.
writeFileSync(`${directory}.truth.json`, `${JSON.stringify({ ...truth, scenario, accounting })}\n`);
console.log(
  `${run.requests.length} requests, ${run.spans.length} spans in ${directory}; truth in ${directory}.truth.json`,
);
