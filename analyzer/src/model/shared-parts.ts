import { openMemoryParts, type SharedMemoryParts } from './memory-parts.ts';
import { PartFile, type SharedPartFile } from './part-file.ts';
import type { TableParts } from './table-parts.ts';

/** Parts as they are handed to another thread of the process. */
export type SharedParts = { readonly file: SharedPartFile } | { readonly memory: SharedMemoryParts };

export function openParts(shared: SharedParts): TableParts {
  return 'file' in shared ? PartFile.open(shared.file) : openMemoryParts(shared.memory);
}
