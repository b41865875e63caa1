import assert from 'node:assert/strict';
import { test } from 'node:test';
import { passText, ReadingLine, readingText } from '../../../analyzer/src/cli/read-progress.ts';

test('progress says share, spans and time left', () => {
  const read = { bytes: 500_000_000, totalBytes: 1_000_000_000, spans: 456_789 };
  assert.equal(readingText(read, 2000), 'reading 50 % of 1 GB, 456,789 spans, 2 s left');
});

test('progress of an input of unknown size says what was read', () => {
  assert.equal(readingText({ bytes: 5_000_000, totalBytes: null, spans: 7 }, 2000), 'reading 5 MB, 7 spans');
});

test('nothing is said in the first second, and then ten times a second', () => {
  const said: string[] = [];
  const line = new ReadingLine((text) => said.push(text), 0);
  const read = { bytes: 1, totalBytes: 10, spans: 1 };
  for (const nowMs of [10, 999, 1000, 1050, 1099, 1101]) line.update(read, nowMs);
  assert.equal(said.length, 2);
  line.analysing(3, 1200);
  assert.equal(said[2], 'analysing 3 spans');
});

test('a quick read is silent to its end', () => {
  const said: string[] = [];
  const line = new ReadingLine((text) => said.push(text), 0);
  line.update({ bytes: 1, totalBytes: 1, spans: 1 }, 500);
  line.analysing(1, 600);
  assert.deepEqual(said, []);
});

test('an analysis in parts says how far it is', () => {
  const progress = { spans: 9_570_000, part: 38, parts: 90 };
  assert.equal(passText(progress), 'analysing 9,570,000 spans: 42 %');
  const said: string[] = [];
  const line = new ReadingLine((text) => said.push(text), 0);
  line.passing(progress, 500);
  line.passing(progress, 1500);
  line.passing(progress, 1550);
  assert.equal(said.length, 1);
});
