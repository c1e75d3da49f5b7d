import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { readFileSync } from 'node:fs';
const { total } = await import(pathToFileURL('src/total.mjs').href);
assert.equal(total([1, 2, 3]), 6);
assert.ok(!readFileSync('src/total.mjs', 'utf8').includes('DEBUG'));
