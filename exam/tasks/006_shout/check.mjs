import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { shout } = await import(pathToFileURL('src/shout.mjs').href);
assert.equal(shout('hey'), 'HEY!');
