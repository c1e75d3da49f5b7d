import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { Argument } = require('./lib/argument.js');
assert.equal(new Argument('<file>').isRequired(), true);
assert.equal(new Argument('[file]').isRequired(), false);
assert.equal(new Argument('<a>').argOptional().required, false);
