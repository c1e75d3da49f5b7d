import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
const names = await import(pathToFileURL('src/names.mjs').href);
assert.deepEqual(Object.keys(names).sort(), ['displayName', 'legacyName']);
assert.equal(names.legacyName({ first: 'Ada', last: 'Byron' }), 'Byron, Ada');
assert.equal(existsSync('src/legacy.mjs'), false);
