import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { errors } from '../errors.ts';
import { DISTRIBUTIONS, LIBRARIES, VENDOR_AGENTS } from './libraries.ts';

export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun';

export interface FoundLibrary {
  readonly name: string;
  /** Installed version, else the range package.json asks for. */
  readonly version: string;
}

export interface StartCommand {
  /** Name of the script it comes from; null where none was found. */
  readonly script: string | null;
  readonly command: string;
  /** The file plain `node` runs; null where something else starts the service. */
  readonly entry: string | null;
  /** What stands between `node` and the file. */
  readonly nodeFlags: string;
  /** What stands behind the file. */
  readonly args: string;
}

export interface Telemetry {
  /** Packages that start an SDK or are an agent. */
  readonly distributions: readonly string[];
  readonly agents: readonly string[];
  /** File that sets up OpenTelemetry in code, relative to the folder; null where none was found. */
  readonly file: string | null;
  readonly waitfall: boolean;
}

/** What a project folder shows, without starting anything. */
export interface Project {
  readonly folder: string;
  readonly name: string;
  readonly modules: 'ES modules' | 'CommonJS';
  readonly typescript: boolean;
  readonly packageManager: PackageManager;
  /** `engines.node`, `.nvmrc` or `.node-version`; null where none says. */
  readonly wantedNode: string | null;
  readonly start: StartCommand | null;
  readonly bundler: string | null;
  readonly libraries: readonly FoundLibrary[];
  readonly telemetry: Telemetry;
  readonly scripts: Readonly<Record<string, string>>;
}

interface Manifest {
  readonly name?: string;
  readonly type?: string;
  readonly main?: string;
  readonly engines?: { readonly node?: string };
  readonly scripts?: Record<string, string>;
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
}

/** Reads a project folder. @throws CliError where it has no readable package.json. */
export function readProject(folder: string): Project {
  const manifest = readManifest(folder);
  const dependencies = { ...manifest.devDependencies, ...manifest.dependencies };
  const scripts = manifest.scripts ?? {};
  const start = startOf(scripts, manifest.main, folder);
  const entryIsEsm = start?.entry?.endsWith('.mjs') === true || start?.entry?.endsWith('.mts') === true;
  const has = (name: string) => Object.hasOwn(dependencies, name);
  return {
    folder,
    name: manifest.name ?? basename(folder),
    modules: manifest.type === 'module' || entryIsEsm ? 'ES modules' : 'CommonJS',
    typescript: has('typescript') || existsSync(join(folder, 'tsconfig.json')),
    packageManager: packageManagerOf(folder),
    wantedNode: manifest.engines?.node ?? firstLine(folder, '.nvmrc') ?? firstLine(folder, '.node-version'),
    start,
    bundler: bundlerOf(scripts),
    libraries: Object.keys(LIBRARIES)
      .filter(has)
      .map((name) => ({ name, version: installedVersion(folder, name) ?? dependencies[name] })),
    telemetry: {
      distributions: DISTRIBUTIONS.filter(has),
      agents: VENDOR_AGENTS.filter(has),
      file: has('@opentelemetry/sdk-node') || has('@opentelemetry/sdk-trace-node') ? setUpFile(folder) : null,
      waitfall: has('@waitfall/instrumentation'),
    },
    scripts,
  };
}

function readManifest(folder: string): Manifest {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) throw errors.noProject(folder);
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw errors.badFile(path, `not readable as JSON: ${(error as Error).message}`);
  }
  if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed)) {
    throw errors.badFile(path, 'a package.json holds an object');
  }
  return parsed as Manifest;
}

const LOCK_FILES: readonly (readonly [string, PackageManager])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['package-lock.json', 'npm'],
];

/** The nearest lock file above counts: a workspace has one for all its packages. */
function packageManagerOf(folder: string): PackageManager {
  for (let at = folder, up = ''; at !== up; up = at, at = join(at, '..')) {
    const found = LOCK_FILES.find(([file]) => existsSync(join(at, file)));
    if (found !== undefined) return found[1];
  }
  return 'npm';
}

function installedVersion(folder: string, name: string): string | null {
  for (let at = folder, up = ''; at !== up; up = at, at = join(at, '..')) {
    const path = join(at, 'node_modules', name, 'package.json');
    if (!existsSync(path)) continue;
    try {
      return (JSON.parse(readFileSync(path, 'utf8')) as { version?: string }).version ?? null;
    } catch {
      return null;
    }
  }
  return null;
}

/** How a service is usually started, the most telling first. */
const START_SCRIPTS = ['start:prod', 'start', 'serve', 'start:dev', 'dev'];
/** Flags of node whose value may stand behind a space. */
const VALUED_FLAGS = [
  '-r',
  '--require',
  '--import',
  '--loader',
  '--experimental-loader',
  '-C',
  '--conditions',
];
const USUAL_ENTRIES = [
  'server.js',
  'app.js',
  'index.js',
  'server.mjs',
  'index.mjs',
  'src/index.js',
  'src/server.js',
];

function startOf(
  scripts: Readonly<Record<string, string>>,
  main: string | undefined,
  folder: string,
): StartCommand | null {
  const script = START_SCRIPTS.find((name) => scripts[name] !== undefined);
  if (script !== undefined) {
    const command = scripts[script];
    return { script, command, ...nodeCommand(command) };
  }
  const entry = [main, ...USUAL_ENTRIES].find((file) => file !== undefined && existsSync(join(folder, file)));
  return entry === undefined
    ? null
    : { script: null, command: `node ${entry}`, entry, nodeFlags: '', args: '' };
}

/** @returns the file that plain `node` runs last in a script, and its flags; no file where something else starts Node. */
function nodeCommand(command: string): Omit<StartCommand, 'script' | 'command'> {
  const words = (command.split(/&&|;/).at(-1) ?? '').trim().split(/\s+/);
  // Variables before the command: `NODE_ENV=production node …`, also by cross-env.
  while (words[0]?.includes('=') || words[0] === 'cross-env') words.shift();
  if (words.shift() !== 'node') return { entry: null, nodeFlags: '', args: '' };
  const flags: string[] = [];
  while (words[0]?.startsWith('-')) {
    const flag = words.shift() as string;
    flags.push(VALUED_FLAGS.includes(flag) && words.length > 0 ? `${flag} ${words.shift()}` : flag);
  }
  return { entry: words[0] ?? null, nodeFlags: flags.join(' '), args: words.slice(1).join(' ') };
}

const BUNDLERS = /\b(esbuild|webpack|rollup|tsup|ncc|parcel|vite build|bun build|rspack)\b/;

function bundlerOf(scripts: Readonly<Record<string, string>>): string | null {
  for (const [name, command] of Object.entries(scripts)) {
    const match = /^(build|bundle|package|prestart)/.test(name) ? BUNDLERS.exec(command) : null;
    if (match !== null) return match[1];
  }
  return null;
}

function firstLine(folder: string, file: string): string | null {
  const path = join(folder, file);
  if (!existsSync(path)) return null;
  return readFileSync(path, 'utf8').split('\n')[0].trim() || null;
}

const SET_UP = /\bnew NodeSDK\b|\bnew NodeTracerProvider\b|\bregisterInstrumentations\s*\(/;
const SOURCE = /\.[cm]?[jt]s$/;
/** Set-ups live near the top; a whole source tree is not searched. */
const SET_UP_FOLDERS = [
  '.',
  'src',
  'lib',
  'app',
  'server',
  'config',
  'telemetry',
  'src/telemetry',
  'src/config',
];
const MOST_BYTES = 200_000;

function setUpFile(folder: string): string | null {
  for (const part of SET_UP_FOLDERS) {
    const at = join(folder, part);
    if (!existsSync(at) || !statSync(at).isDirectory()) continue;
    for (const entry of readdirSync(at, { withFileTypes: true })) {
      const path = join(at, entry.name);
      if (!entry.isFile() || !SOURCE.test(entry.name) || statSync(path).size > MOST_BYTES) continue;
      if (SET_UP.test(readFileSync(path, 'utf8'))) return part === '.' ? entry.name : join(part, entry.name);
    }
  }
  return null;
}
