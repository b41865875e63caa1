import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Analysis } from '../../infer/analysis.ts';
import { EXIT, errors } from '../errors.ts';
import { load } from '../load.ts';
import { type CommonFlags, textStyle } from '../options.ts';
import { write } from '../output.ts';
import { exitCode } from './report.ts';

export interface CompareFlags extends CommonFlags {
  readonly format: 'text' | 'json' | 'markdown';
}

/** `waitfall compare BEFORE AFTER`: the evidence record of one change. @returns the exit code. */
export async function compareCommand(before: string, after: string, flags: CompareFlags): Promise<number> {
  const a = withManifest(await load([before], flags), before);
  const b = withManifest(await load([after], flags), after);
  const codes = [exitCode(a, flags), exitCode(b, flags)];
  for (const [i, path] of [before, after].entries()) {
    if (codes[i] === EXIT.noTrace) throw errors.nothingToCompare(path);
  }
  const { compareRuns } = await import('../../infer/compare/index.ts');
  const comparison = compareRuns(a, b);
  await write([await render()], flags.output);
  return Math.max(...codes);

  async function render(): Promise<string> {
    if (flags.format === 'json') {
      const { toJson } = await import('../../report/json.ts');
      return `${toJson({ schemaVersion: 1, before, after, ...comparison }, 2)}\n`;
    }
    const { layOutComparison } = await import('../../report/compare.ts');
    const document = layOutComparison(comparison, { before, after });
    if (flags.format === 'markdown') {
      return (await import('../../report/markdown.ts')).renderMarkdown(document, 'Waitfall comparison');
    }
    return (await import('../../report/text.ts')).renderText(document, textStyle(flags));
  }
}

/** The manifest of a run directory fixes more than the one in its load plan: the service and the machine too. */
function withManifest(analysis: Analysis, path: string): Analysis {
  const manifest = manifestOf(path);
  if (analysis.plan === null || manifest === null) return analysis;
  return { ...analysis, plan: { ...analysis.plan, manifest } };
}

/** @returns the manifest of a run directory; null where there is none. */
export function manifestOf(path: string): Record<string, unknown> | null {
  if (!existsSync(path) || !statSync(path).isDirectory()) return null;
  const file = join(path, 'manifest.json');
  if (!existsSync(file)) return null;
  let manifest: unknown;
  try {
    manifest = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw errors.badFile(file, 'a manifest is JSON; this file is not');
  }
  if (manifest === null || typeof manifest !== 'object' || Array.isArray(manifest)) {
    throw errors.badFile(file, 'a manifest is a JSON object');
  }
  return manifest as Record<string, unknown>;
}
