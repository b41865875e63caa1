/**
 * Runs one of the examples and says in five lines what it waited for.
 *
 *   npm run example -- NAME
 */
import { join } from 'node:path';
import { openDatabase } from '../src/postgres/database.ts';
import { waitfall } from '../src/run/analyzer.ts';
import { makeRunDirectory, runCommand, say, shown, UsageError } from '../src/run/command.ts';
import { EXAMPLES, exampleNamed } from './examples.ts';
import { sayingOf } from './expected.ts';
import { type ExampleReport, fiveLines } from './five-lines.ts';
import { recordExample } from './record.ts';

const HELP = `npm run example -- NAME

${EXAMPLES.map(({ name }) => `  ${name}`).join('\n')}
`;

await runCommand(async ({ children, onEnd }) => {
  const [name] = process.argv.slice(2);
  if (name === undefined || name === '--help') throw new UsageError(HELP);
  const example = exampleNamed(name);
  const directory = await makeRunDirectory('runs', `example-${name}`);
  const database = example.needs === 'database' ? await openDatabase(process.env['DATABASE_URL']) : undefined;
  if (database !== undefined) onEnd(() => database.close());
  await recordExample(children, example, join(directory, 'traces.jsonl'), database);
  const { output } = await waitfall(['report', directory, '--format', 'json']);
  for (const line of fiveLines(example, await sayingOf(name), JSON.parse(output) as ExampleReport)) say(line);
  say(`npx waitfall ${shown(directory)}`);
  return true;
});
