import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { greet, farewell } = await import(pathToFileURL('src/words.mjs').href);
assert.equal(farewell('Ada'), 'Goodbye, Ada!');
assert.equal(greet('Ada'), 'Hello, Ada!');
