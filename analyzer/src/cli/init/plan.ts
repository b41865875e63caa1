import { LIBRARIES } from './libraries.ts';
import type { PackageManager, Project, StartCommand } from './project.ts';

/** One step of a set-up: what it is for, and the lines to run or to write. */
export interface Step {
  readonly title: string;
  readonly lines: readonly string[];
}

export interface SetUp {
  readonly steps: readonly Step[];
  /** What to know before relying on the result. */
  readonly notes: readonly string[];
  /** Command of the `start:waitfall` script; null where nothing is known to start. */
  readonly script: string | null;
}

const REGISTER = '@waitfall/instrumentation/register';
const INSTALL: Readonly<Record<PackageManager, string>> = {
  npm: 'npm install',
  pnpm: 'pnpm add',
  yarn: 'yarn add',
  bun: 'bun add',
};

/** Decides how a project is instrumented: beside a set-up it has, or on its own. */
export function planSetUp(project: Project, platform: NodeJS.Platform = process.platform): SetUp {
  const { telemetry, start } = project;
  const steps: Step[] = [];
  if (!telemetry.waitfall) {
    const line = `${INSTALL[project.packageManager]} @waitfall/instrumentation @opentelemetry/api`;
    steps.push({ title: 'Install', lines: [line] });
  }
  const missing = project.libraries.flatMap(({ name }) => {
    const { by, how } = LIBRARIES[name];
    return by === 'official' && how !== undefined ? [how] : [];
  });
  const script = telemetry.file === null ? startScript(project) : null;
  if (telemetry.file !== null) {
    steps.push({ title: `Add to the set-up in ${telemetry.file}`, lines: existingSetUp(project) });
  } else {
    const command = script ?? `node --import ${REGISTER} <file that starts the service>`;
    const lines = withVariables(command, project.name, platform);
    steps.push({ title: 'Start it with its spans in a file', lines });
    const beside = besideDistribution(project);
    if (beside !== null) {
      const title = `Or beside ${telemetry.distributions.join(', ')}, with the spans going where it sends them`;
      steps.push({ title, lines: [beside] });
    }
  }
  steps.push({
    title: 'Send it requests, then look',
    lines: ['npx waitfall doctor traces.jsonl', 'npx waitfall traces.jsonl'],
  });
  const gate = admissionLine(project);
  if (gate !== null) steps.push({ title: 'To bound what it takes in, and to see that queue', lines: gate });
  return { steps, notes: notesOf(project, [...new Set(missing)], start?.entry ?? null), script };
}

/** @returns how the service starts with our part alone: what a distribution registers has no file of ours. */
function startScript({ start, telemetry }: Project): string | null {
  if (start === null) return null;
  if (start.entry === null) return `NODE_OPTIONS="--import ${REGISTER}" ${start.command}`;
  return nodeCommand(start, withoutDistributions(start.nodeFlags, telemetry.distributions));
}

/** The one distribution whose flag is known without looking it up in a project. */
const AUTO = '@opentelemetry/auto-instrumentations-node';

/** @returns how it starts with a distribution that is loaded by a flag; ours comes second and is added to it. */
function besideDistribution({ start, telemetry }: Project): string | null {
  if (start === null || start.entry === null) return null;
  const own = start.nodeFlags;
  if (telemetry.distributions.some((name) => own.includes(name))) return nodeCommand(start, own);
  return telemetry.distributions.includes(AUTO)
    ? nodeCommand(start, `${own} --import ${AUTO}/register`.trim())
    : null;
}

function nodeCommand({ entry, args }: StartCommand, flags: string): string {
  return ['node', flags, `--import ${REGISTER}`, entry, args].filter((part) => part !== '').join(' ');
}

function withoutDistributions(flags: string, names: readonly string[]): string {
  return flags
    .split(/ (?=-)/)
    .filter((flag) => !names.some((name) => flag.includes(name)))
    .join(' ');
}

/** @returns lines that name the service, send its spans to a file and run a command, as the platform's shell takes them. */
function withVariables(command: string, service: string, platform: NodeJS.Platform): string[] {
  const variables = variablesOf(service);
  if (platform !== 'win32') {
    return [[...variables.map(([name, value]) => `${name}=${value}`), command].join(' ')];
  }
  const options = /^NODE_OPTIONS="([^"]*)" (.*)$/.exec(command);
  return [
    ...variables.map(([name, value]) => `$env:${name} = '${value}'`),
    ...(options === null ? [command] : [`$env:NODE_OPTIONS = '${options[1]}'`, options[2]]),
  ];
}

/** What a start needs beside its flags. A scope in the package's name is no part of a service's. */
export function variablesOf(service: string): [string, string][] {
  const name = service.replace(/^@[^/]+\//, '').replaceAll(/[^\w.-]/g, '-');
  return [
    ['OTEL_SERVICE_NAME', name],
    ['WAITFALL_TRACE_FILE', 'traces.jsonl'],
  ];
}

function existingSetUp({ modules, typescript }: Project): string[] {
  const names = '{ FileSpanProcessor, WaitfallInstrumentation, WaitfallSpanProcessor }';
  const load =
    modules === 'ES modules' || typescript
      ? `import ${names} from '@waitfall/instrumentation';`
      : `const ${names} = require('@waitfall/instrumentation');`;
  return [
    load,
    'instrumentations: [ …, new WaitfallInstrumentation() ]',
    "spanProcessors: [ new WaitfallSpanProcessor(new FileSpanProcessor('traces.jsonl')) ]",
  ];
}

function admissionLine({ libraries, modules, typescript }: Project): string[] | null {
  const has = (name: string) => libraries.some((library) => library.name === name);
  const [name, use] = has('fastify')
    ? ['fastifyAdmission', "fastify.addHook('onRequest', fastifyAdmission({ maxConcurrent: 64 }));"]
    : has('koa')
      ? ['koaAdmission', 'app.use(koaAdmission({ maxConcurrent: 64 }));']
      : has('express')
        ? ['admission', 'app.use(admission({ maxConcurrent: 64 }));']
        : [null, null];
  if (name === null) return null;
  const load =
    modules === 'ES modules' || typescript
      ? `import { ${name} } from '@waitfall/instrumentation';`
      : `const { ${name} } = require('@waitfall/instrumentation');`;
  return [load, use];
}

/** Frameworks whose routes an official instrumentation names. */
const ROUTED: readonly string[] = ['express', 'koa'];

function notesOf(project: Project, missing: readonly string[], entry: string | null): string[] {
  const { telemetry, bundler, start, wantedNode } = project;
  const notes: string[] = [];
  if (telemetry.agents.length > 0) {
    notes.push(
      `${telemetry.agents.join(', ')} patches the same libraries and keeps its spans: leave it out while you measure`,
    );
  }
  if (telemetry.file !== null) {
    notes.push(
      'the processor it has now can stay: wrap it in WaitfallSpanProcessor instead, where spans should go to both or to it alone',
      'shut the SDK down when the service ends (await sdk.shutdown() on SIGTERM and SIGINT): else the spans of its last second are lost',
    );
    if (project.modules === 'ES modules' && project.libraries.some(({ name }) => ROUTED.includes(name))) {
      notes.push(
        'routes come from the official instrumentations, which see ES modules only with --experimental-loader=@opentelemetry/instrumentation/hook.mjs',
      );
    }
  }
  if (bundler !== null) {
    notes.push(
      `${bundler} builds it: what is inside a bundle cannot be patched, keep pg and express external`,
    );
  }
  if (missing.length > 0)
    notes.push(`to record more: ${INSTALL[project.packageManager]} ${missing.join(' ')}`);
  if (start !== null && entry === null) {
    notes.push(`'${start.command}' starts Node itself: NODE_OPTIONS reaches every Node process it starts`);
  }
  if (wantedNode !== null && tooOld(wantedNode)) {
    notes.push(`it asks for Node ${wantedNode}; the instrumentation needs 20.19 or newer`);
  }
  if (project.packageManager === 'bun')
    notes.push('the instrumentation is made for Node; Bun is not supported');
  return notes;
}

/** @returns whether every version a range names is below Node 20; ranges it cannot read are taken for new enough. */
function tooOld(range: string): boolean {
  const majors = [...range.matchAll(/(?<![.\d])(\d+)(?:\.\d+|\.x)*/g)].map((match) => Number(match[1]));
  return majors.length > 0 && !/>/.test(range) && majors.every((major) => major < 20);
}
