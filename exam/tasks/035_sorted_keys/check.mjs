import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { stringify } = require('./lib/index.js');
assert.equal(stringify({ b: 1, a: 2, c: 3 }), '{"a":2,"b":1,"c":3}');
