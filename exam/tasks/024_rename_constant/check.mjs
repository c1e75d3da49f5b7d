import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
import { readFileSync } from 'node:fs';
const identity = require('./lib/identity.js');
assert.equal(identity.NODE_TYPE, Symbol.for('yaml.node.type'));
assert.equal(identity.isMap({ [identity.NODE_TYPE]: identity.MAP }), true);
assert.deepEqual(readFileSync('lib/identity.js', 'utf8').match(/\bNODE_TYPE\b/g), ['NODE_TYPE']);
