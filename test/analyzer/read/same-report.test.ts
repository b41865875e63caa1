import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze, buildReport, jsonReport } from '../../../analyzer/src/index.ts';
import { compressions, PLAIN_ENCODINGS, RICH_ENCODINGS } from './encodings.ts';
import { readBytes } from './reading.ts';

/** The JSON report without its input section, which names files and formats. */
async function reportOf(content: Buffer, parser: 'fast' | 'slow' = 'fast'): Promise<string> {
  const input = await readBytes(content, 1 << 16, { parser });
  const { input: _files, ...rest } = JSON.parse(
    jsonReport(buildReport(analyze(input, { toleranceNs: 1_000_000 }))),
  );
  return JSON.stringify(rest);
}

for (const [what, encodings] of [
  ['the rich sample', RICH_ENCODINGS],
  ['the plain sample', PLAIN_ENCODINGS],
] as const) {
  test(`${what} gives the same report to the byte in every format and compression`, async () => {
    const [first] = Object.values(encodings);
    const expected = await reportOf(first, 'slow');
    assert.ok(expected.includes('"count":1'), expected.slice(0, 300));
    for (const [encoding, content] of Object.entries(encodings)) {
      for (const [name, bytes] of compressions(encoding, content)) {
        assert.equal(await reportOf(bytes), expected, name);
      }
    }
  });
}
