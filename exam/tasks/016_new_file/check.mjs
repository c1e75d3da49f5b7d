import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { clamp } = await import(pathToFileURL('src/clamp.mjs').href);
assert.deepEqual([clamp(5, 1, 3), clamp(-5, 1, 3), clamp(2, 1, 3)], [3, 1, 2]);
