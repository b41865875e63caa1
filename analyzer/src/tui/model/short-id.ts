/** @returns eight characters that tell a trace id apart: its start, or its end where a 64-bit id was padded with zeros. */
export function shortId(traceId: string): string {
  return traceId.startsWith('00000000') ? traceId.slice(-8) : traceId.slice(0, 8);
}
