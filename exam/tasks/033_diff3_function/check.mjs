import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { isClean, merge } = await import(pathToFileURL('lib/diff3.mjs').href);
assert.equal(isClean(['a', 'x'], ['a', 'b'], ['a', 'b']), true);
assert.equal(isClean(['x'], ['a'], ['y']), false);
assert.equal(typeof merge, 'function');
