import { safe, type TextStyle } from '../../report/text.ts';
import { padEnd, width } from '../../report/width.ts';
import { LIBRARIES } from './libraries.ts';
import type { SetUp } from './plan.ts';
import type { Project } from './project.ts';

/** @returns what was found and the set-up as text. Lines to copy are never wrapped. */
export function setUpText(project: Project, setUp: SetUp, style: TextStyle): string {
  const lines = [`Project ${project.name}`, ...table(foundRows(project))];
  if (project.libraries.length > 0) {
    lines.push('', 'What is seen of its libraries', ...table(project.libraries.map(libraryRow)));
  }
  for (const [i, { title, lines: code }] of setUp.steps.entries()) {
    lines.push('', `${i + 1}. ${title}`, ...code.map((line) => `     ${line}`));
  }
  if (setUp.notes.length > 0) lines.push('', 'Good to know', ...setUp.notes.map((note) => `  - ${note}`));
  return `${lines.map((line) => safe(line, style)).join('\n')}\n`;
}

function foundRows(project: Project): string[][] {
  const { start, telemetry, wantedNode, bundler } = project;
  const existing = [
    ...(telemetry.file === null ? [] : [`set up in ${telemetry.file}`]),
    ...telemetry.distributions,
    ...telemetry.agents,
  ];
  return [
    ['modules', `${project.modules}${project.typescript ? ', TypeScript' : ''}`],
    ['packages', `${project.packageManager}${bundler === null ? '' : `, bundled by ${bundler}`}`],
    ['Node', wantedNode === null ? `${process.versions.node} here; the project does not say` : wantedNode],
    [
      'start',
      start === null ? 'not found' : `${start.command}${start.script === null ? '' : ` (${start.script})`}`,
    ],
    ['telemetry', existing.length === 0 ? 'none' : existing.join(', ')],
    ['waitfall', telemetry.waitfall ? 'a dependency already' : 'not installed'],
  ];
}

const BY = { register: '', code: ': ', official: '; needs ' } as const;

function libraryRow({ name, version }: Project['libraries'][number]): string[] {
  const { seen, by, how } = LIBRARIES[name];
  return [`${name} ${version}`, `${seen}${how === undefined ? '' : `${BY[by]}${how}`}`];
}

function table(rows: readonly (readonly string[])[]): string[] {
  const first = Math.max(...rows.map(([name]) => width(name)));
  return rows.map(([name, text]) => `  ${padEnd(name, first)}  ${text}`);
}
