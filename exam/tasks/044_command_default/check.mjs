import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { Command } = require('./lib/command.js');
assert.equal(new Command()._showSuggestionAfterError, false);
assert.equal(new Command().showSuggestionAfterError()._showSuggestionAfterError, true);
