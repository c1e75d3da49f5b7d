import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { sum } = await import(pathToFileURL('src/sum.mjs').href);
assert.equal(sum([1, 2, 3]), 6);
assert.equal(sum([]), 0);
assert.throws(() => sum(['1']), TypeError);
