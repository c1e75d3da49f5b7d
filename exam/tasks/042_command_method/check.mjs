import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { Command } = require('./lib/command.js');
const program = new Command();
program.command('install').alias('i');
assert.equal(program.commands[0].hasAlias('i'), true);
assert.equal(program.commands[0].hasAlias('x'), false);
