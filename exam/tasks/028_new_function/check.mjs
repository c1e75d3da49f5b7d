import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { isMixed, isUnix } = await import(pathToFileURL('lib/line-endings.mjs').href);
const patch = (...lines) => ({ hunks: [{ lines }] });
assert.equal(isMixed(patch('-a', '+b\r')), true);
assert.equal(isMixed(patch('-a', '+b')), false);
assert.equal(isMixed(patch('-a\r', '+b\r')), false);
assert.equal(isUnix(patch('-a')), true);
