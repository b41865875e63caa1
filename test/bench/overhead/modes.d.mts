export const MODES: readonly string[];
export function instrument(mode: string | undefined): Promise<void>;
