import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Analysis, type AnalyzeOptions, analyze } from '../../../analyzer/src/infer/analysis.ts';
import { readInputs } from '../../../analyzer/src/read/index.ts';

/** Reads and analyses file contents as the command does. */
export async function analyzeText(
  files: Readonly<Record<string, string>>,
  options: AnalyzeOptions = {},
): Promise<Analysis> {
  const folder = mkdtempSync(join(tmpdir(), 'waitfall-test-'));
  try {
    const paths = Object.entries(files).map(([name, content]) => {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    });
    return analyze(await readInputs(paths), options);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
