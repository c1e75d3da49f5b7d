import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { add } = await import(pathToFileURL('src/add.mjs').href);
assert.equal(add(2, 3), 5);
assert.equal(add(-1, 1), 0);
