type Dump = () => Promise<string | undefined>;

let dump: Dump | undefined;

export function setDump(next: Dump | undefined): void {
  dump = next;
}

/**
 * Writes what the flight recorder kept of the last seconds (`WAITFALL_RECORDER`), as an export that `waitfall`
 * reads.
 *
 * @returns the path of the file; undefined where no recorder runs, or it kept nothing.
 */
export async function dumpRecorder(): Promise<string | undefined> {
  return dump?.();
}
