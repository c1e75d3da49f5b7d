import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { Command } = require('./lib/command.js');
import { readFileSync } from 'node:fs';
assert.equal(new Command().nameFromFilename, undefined);
assert.equal(new Command('a').name(), 'a');
assert.doesNotMatch(readFileSync('lib/command.js', 'utf8'), /nameFromFilename/);
