import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { COLORS } = await import(pathToFileURL('src/colors.mjs').href);
assert.deepEqual(COLORS, ['red', 'green', 'yellow', 'blue']);
