import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { CommanderError, InvalidArgumentError } = require('./lib/error.js');
const error = new InvalidArgumentError('no');
assert.deepEqual([error.exitCode, error.code, error.message], [2, 'commander.invalidArgument', 'no']);
assert.equal(new CommanderError(1, 'a', 'b').exitCode, 1);
