import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

const schema = JSON.parse(
  readFileSync(new URL('../../../analyzer/report.schema.json', import.meta.url), 'utf8'),
);

/** The schema of the JSON report, compiled. */
export const validate = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true }).compile(schema);

/** Fails with what the schema does not allow. */
export function assertFollowsSchema(json: string): void {
  assert.ok(validate(JSON.parse(json)), JSON.stringify(validate.errors?.slice(0, 5), null, 2));
}
