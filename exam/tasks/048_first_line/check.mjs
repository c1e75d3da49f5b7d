import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { default: distanceIterator } = await import(pathToFileURL('lib/distance-iterator.mjs').href);
const next = distanceIterator(2, 0, 4);
assert.deepEqual([next(), next(), next(), next(), next()], [3, 1, 4, 0, undefined]);
