import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { max } = await import(pathToFileURL('src/max.mjs').href);
assert.equal(max([3, 9, 4]), 9);
assert.equal(max([]), -Infinity);
