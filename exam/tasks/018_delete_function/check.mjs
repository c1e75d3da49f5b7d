import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { readFileSync } from 'node:fs';
const names = await import(pathToFileURL('src/names.mjs').href);
assert.deepEqual(Object.keys(names).sort(), ['displayName', 'initials']);
assert.equal(names.initials({ first: 'Ada', last: 'Byron' }), 'AB');
assert.doesNotMatch(readFileSync('src/names.mjs', 'utf8'), /version 1|deprecated/);
