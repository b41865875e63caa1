import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { analyze, buildReport, jsonReport, readInputs } from '../../analyzer/src/index.ts';
import { EXAMPLES } from '../../sample-app/examples/examples.ts';
import { expectedLines, partIn, sayingOf } from '../../sample-app/examples/expected.ts';
import { type ExampleReport, fiveLines, partsOf } from '../../sample-app/examples/five-lines.ts';
import { recordExample } from '../../sample-app/examples/record.ts';
import { type Database, openDatabase } from '../../sample-app/src/postgres/database.ts';
import { Children } from '../../sample-app/src/run/children.ts';

const children = new Children();
let directory: string;
let database: Database;

before(async () => {
  directory = mkdtempSync(join(tmpdir(), 'waitfall-examples-'));
  database = await openDatabase();
});
after(async () => {
  await children.stopAll();
  await database?.close();
  rmSync(directory, { recursive: true, force: true });
});

const ATTEMPTS = 3;

let recorded = 0;

/** Records the example once more. @returns what the analyzer says of it. */
async function shown(example: (typeof EXAMPLES)[number]) {
  const file = join(directory, `${example.name}-${recorded++}.jsonl`);
  await recordExample(children, example, file, example.needs === 'database' ? database : undefined);
  const report = JSON.parse(jsonReport(buildReport(analyze(await readInputs([file]))))) as ExampleReport;
  return { report, lines: fiveLines(example, await sayingOf(example.name), report) };
}

/** Most of an example is waiting: two at a time cost little more than one. */
describe('the examples', { concurrency: 2 }, () => {
  for (const example of EXAMPLES) {
    test(`${example.name} shows the wait it is about`, async () => {
      const expected = await expectedLines(example.name);
      let { report, lines } = await shown(example);
      // A few requests of some milliseconds: one that finds no core shows the wait for the core.
      for (let i = 1; i < ATTEMPTS && partIn(lines[2]) !== partIn(expected[2]); i++)
        ({ report, lines } = await shown(example));
      assert.equal(lines.length, 5);
      assert.equal(expected.length, 5);
      assert.equal(lines[0], expected[0]);
      assert.equal(report.requests.count, example.requests);
      assert.equal(partIn(lines[2]), partIn(expected[2]), lines.join('\n'));
      // What else there was comes in any order, and some of it depends on the machine: the largest of it does not.
      const parts = partsOf(report).map((part) => part.what);
      if (partIn(expected[3]) !== '-') assert.ok(parts.includes(partIn(expected[3])), parts.join(', '));
    });
  }
});
