import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { stringifyNumber } = require('./lib/stringifyNumber.js');
assert.equal(stringifyNumber({ value: NaN }), '.NaN');
assert.equal(stringifyNumber({ value: -Infinity }), '-.inf');
assert.equal(stringifyNumber({ value: 3 }), '3');
