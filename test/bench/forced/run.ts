/**
 * Forces one bottleneck after the other on the sample application, with a real database and an open load, and
 * lets the analyzer say what it was.
 *
 *   npm run bench:forced [-- --only NAME,…] [--quick] [--seconds N] [--repeat N] [--out DIR]
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { analyze, buildReport, type Report, readInputs } from '../../../analyzer/src/index.ts';
import { checkManifest, type LoadManifest } from '../../../sample-app/src/load/manifest.ts';
import { type Database, openDatabase } from '../../../sample-app/src/postgres/database.ts';
import {
  makeRunDirectory,
  type Running,
  runCommand,
  say,
  UsageError,
} from '../../../sample-app/src/run/command.ts';
import { offerLoad } from '../../../sample-app/src/run/load.ts';
import { registerModule } from '../../../sample-app/src/run/register-module.ts';
import type { ServiceReady } from '../../../sample-app/src/service/main.ts';
import { createTables } from '../../../sample-app/src/service/schema.ts';
import { type Measured, measureCapacity, signUp } from './capacity.ts';
import { CONFIGURATIONS, type Configuration, type Surroundings, TO_THE_LIMIT } from './configurations.ts';
import {
  didNotApply,
  disturbance,
  type Judged,
  judge,
  notApplied,
  notJudged,
  tableOf,
  wordFor,
} from './judge.ts';

const SERVICE = new URL('../../../sample-app/src/service/main.ts', import.meta.url);
/** Longer than any backlog of a run takes to drain. */
const TIMEOUT_MS = 40_000;
/** A slow machine gets longer steps: fewer requests than this say nothing. */
const FEWEST_REQUESTS = 150;
const LONGEST_STEP_SECONDS = 12;
/** A machine whose speed changed so much that the load did not do what it was to is given another chance. */
const ATTEMPTS = 3;

/** In little more than a minute: a pool, the loop, a row, a thread, and nothing. */
const QUICK = ['pool 2', 'CPU burn', 'hot row', 'thread pool', 'none'];

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '3' },
    repeat: { type: 'string', default: '1' },
    out: { type: 'string', default: 'runs/forced' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run bench:forced [-- options]

  --only A,B    of ${CONFIGURATIONS.map(({ name }) => name).join(', ')}
  --quick       of each way to wait one: ${QUICK.join(', ')}
  --seconds N   length of each step (default 3)
  --repeat N    runs of each configuration (default 1)
  --out DIR     where the run directories are made (default runs/forced)
`;

function chosen(): readonly Configuration[] {
  const names = flags.only?.split(',') ?? (flags.quick ? QUICK : null);
  if (names === null) return CONFIGURATIONS;
  return names.map((name) => {
    const found = CONFIGURATIONS.find((one) => one.name === name.trim());
    if (found === undefined) throw new UsageError(`no configuration "${name}"\n\n${HELP}`);
    return found;
  });
}

function loadOf(
  { name, shares = TO_THE_LIMIT, campaign }: Configuration,
  capacityPerSecond: number,
  seconds: number,
): LoadManifest {
  const perSecond = shares.reduce((sum, share) => sum + share * capacityPerSecond, 0);
  const stepSeconds = Math.min(
    LONGEST_STEP_SECONDS,
    Math.max(seconds, Math.ceil(FEWEST_REQUESTS / perSecond)),
  );
  return checkManifest(
    {
      name,
      seed: 5,
      timeoutMs: TIMEOUT_MS,
      steps: shares.map((share) => ({
        phase: share > 1 ? 'overload' : 'ramp',
        arrivalsPerSecond: Math.max(1, Math.round(share * capacityPerSecond)),
        seconds: stepSeconds,
      })),
      requests: [
        {
          name: 'sign-up',
          share: 1,
          method: 'POST',
          path: '/signup',
          body: signUp(campaign === 'one' ? 1 : '{{integer 2 51}}', '{{sequence user}}'),
          success: [201],
        },
      ],
    },
    name,
  );
}

async function prepare(database: Database, name: string): Promise<URL> {
  const url = new URL(await database.createSchema(name.replaceAll(/\W+/g, '_').toLowerCase()));
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    await createTables(client, { registrations: 100, stock: 1_000_000, stockRows: 1 });
  } finally {
    await client.end();
  }
  return url;
}

async function runOnce(
  { children }: Running,
  database: Database,
  configuration: Configuration,
  seconds: number,
  seenPerSecond: number,
): Promise<{ report: Report; directory: string; measured: Measured }> {
  const url = await prepare(database, configuration.name);
  const surroundings: Surroundings = await configuration.surround({
    host: url.hostname,
    port: Number(url.port || 5432),
  });
  if (surroundings.databaseAddress !== undefined) url.host = surroundings.databaseAddress;
  let measured: Measured;
  const directory = await makeRunDirectory(flags.out, configuration.name.replaceAll(/\W+/g, '-'));
  try {
    const { child, ready } = await children.start<ServiceReady>('service', SERVICE, {
      nodeOptions: ['--import', registerModule()],
      env: {
        DATABASE_URL: url.href,
        PORT: '0',
        SIGNUP_VARIANT: 'before',
        SIGNUP_CONFIG: JSON.stringify(surroundings.config),
        OTEL_SERVICE_NAME: 'signup',
        WAITFALL_TRACE_FILE: join(directory, 'traces.jsonl'),
        ...surroundings.env,
      },
    });
    const service = `http://127.0.0.1:${ready.port}`;
    measured = await measureCapacity(service, configuration);
    await offerLoad(children, {
      // A machine that was starved while it was measured may not be any more.
      manifest: loadOf(configuration, Math.max(measured.perSecond, seenPerSecond), seconds),
      url: service,
      directory,
      watch: { app: child.pid!, ...(database.pid !== null && { database: database.pid }) },
    });
    await children.stop(child);
  } finally {
    for (const remote of surroundings.remotes ?? []) await remote.close();
  }
  const report = buildReport(analyze(await readInputs([directory])));
  return { report, directory, measured };
}

/** A run that fails is wrong, and the others go on. */
async function runAndJudge(
  running: Running,
  database: Database,
  configuration: Configuration,
  seconds: number,
): Promise<Judged> {
  let seenPerSecond = configuration.limitPerSecond ?? 0;
  try {
    for (let attempt = 1; ; attempt++) {
      const { report, directory, measured } = await runOnce(
        running,
        database,
        configuration,
        seconds,
        seenPerSecond,
      );
      if (configuration.expected !== null) seenPerSecond = Math.max(seenPerSecond, measured.perSecond);
      const load = JSON.parse(await readFile(join(directory, 'load.json'), 'utf8'));
      const reason = didNotApply(configuration, load, measured);
      const judged = judge(configuration, report, load, directory);
      if (reason === null && judged.right) return judged;
      const why = [reason, disturbance(load, measured)].filter((one) => one !== null);
      if (why.length === 0) return judged;
      const disturbed = why.join('; ');
      if (attempt === ATTEMPTS)
        return notApplied(configuration, `${disturbed}; it said ${judged.named}`, directory);
      say(`again  ${configuration.name}: ${disturbed}`);
    }
  } catch (error) {
    return notJudged(configuration, error as Error);
  }
}

async function bench(running: Running): Promise<boolean> {
  if (flags.help) {
    process.stdout.write(HELP);
    return true;
  }
  const seconds = Number(flags.seconds);
  const repeat = Number(flags.repeat);
  if (!(seconds > 0) || !(repeat >= 1)) throw new UsageError(HELP);
  const configurations = chosen();
  const database = await openDatabase(process.env['DATABASE_URL']);
  running.onEnd(() => database.close());
  const judged: Judged[] = [];
  for (const configuration of configurations) {
    for (let count = 0; count < repeat; count++) {
      const one = await runAndJudge(running, database, configuration, seconds);
      judged.push(one);
      say(`${wordFor(one).padEnd(5)}  ${one.name}: ${one.named}`);
    }
  }
  say('');
  for (const line of tableOf(judged)) say(line);
  const wrong = judged.filter((one) => one.right === false);
  for (const { name, directory } of wrong) say(`wrong: ${name}${directory && `; npx waitfall ${directory}`}`);
  return wrong.length === 0 && judged.some(({ right }) => right === true);
}

await runCommand(bench);
