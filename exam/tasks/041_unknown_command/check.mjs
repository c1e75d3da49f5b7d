import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { Command } = require('./lib/command.js');
const program = new Command().exitOverride().configureOutput({ writeErr: () => {} });
program.command('install').action(() => {});
assert.throws(() => program.parse(['remove'], { from: 'user' }), /error: unknown subcommand 'remove'/);
