import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { isEven, isOdd } = await import(pathToFileURL('src/even.mjs').href);
assert.equal(isEven(4), true);
assert.equal(isEven(7), false);
assert.equal(isOdd(7), true);
