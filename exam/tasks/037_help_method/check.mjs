import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { Help } = require('./lib/help.js');
class Fixed extends Help {
  visibleCommands() { return [1, 2]; }
  visibleOptions() { return [1]; }
  visibleArguments() { return [1, 2, 3]; }
}
assert.equal(new Fixed().countVisible({}), 6);
