import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The parts of the analyzer's JSON report (schema version 1) that the case study looks at. */
export interface ReportFile {
  readonly schemaVersion: number;
  readonly resources: readonly ReportResource[];
  readonly windows: readonly ReportWindow[];
  readonly verdict: {
    readonly status: string;
    readonly first: { readonly kind: string; readonly resource: string } | null;
    /** Names as good as `first`, `first` included. */
    readonly acceptable: readonly string[];
    readonly next: { readonly kind: string; readonly resource: string } | null;
    readonly kneePerSecond: number | null;
    readonly chain: readonly { readonly kind: string; readonly resource: string }[];
    readonly findings: readonly { readonly text: string }[];
    readonly evidence: readonly { readonly text: string }[];
    readonly whatIf: readonly ReportWhatIf[];
  };
}

export interface ReportWindow {
  readonly plannedPerSecond: number | null;
  readonly receivedPerSecond: number;
  readonly completedPerSecond: number;
  readonly goodputPerSecond: number;
  readonly segments: readonly {
    readonly segment: string;
    readonly resource: string | null;
    readonly meanNs: number;
  }[];
}

export interface ReportResource {
  readonly resource: string;
  readonly kind: string;
  readonly visitsPerRequest: number | null;
  readonly holdComposition: readonly { readonly what: string; readonly share: number }[];
  readonly windows: readonly { readonly meanHoldNs: number | null; readonly meanWaitNs: number | null }[];
}

export interface ReportWhatIf {
  readonly change: string;
  readonly kneePerSecond: { readonly low: number; readonly high: number } | null;
}

/** @returns the report that lies in a run directory, null where there is none. */
export async function readReport(directory: string): Promise<ReportFile | null> {
  try {
    return JSON.parse(await readFile(join(directory, 'report.json'), 'utf8')) as ReportFile;
  } catch {
    return null;
  }
}
