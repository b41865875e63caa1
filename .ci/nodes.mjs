// Node binaries of several major versions, from the npm package `node`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** @returns the path of each binary by major version; installs those that are missing below the folder. */
export function installNodes(majors, folder) {
  const binaries = new Map();
  for (const major of majors) {
    if (process.versions.node.startsWith(`${major}.`)) {
      binaries.set(major, process.execPath);
      continue;
    }
    const at = join(folder, `node-${major}`);
    const name = process.platform === 'win32' ? 'node.exe' : 'node';
    const binary = join(at, 'node_modules', 'node', 'bin', name);
    if (!existsSync(binary)) {
      mkdirSync(at, { recursive: true });
      const args = [
        'install',
        '--prefix',
        at,
        '--no-audit',
        '--no-fund',
        '--loglevel=error',
        `node@${major}`,
      ];
      const { status, stderr } = spawnSync('npm', args, {
        cwd: at,
        encoding: 'utf8',
        shell: process.platform === 'win32',
      });
      if (status !== 0) throw new Error(`node@${major} cannot be installed: ${stderr}`);
    }
    binaries.set(major, binary);
  }
  return binaries;
}
