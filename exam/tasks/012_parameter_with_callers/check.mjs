import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
const { label } = await import(pathToFileURL('src/label.mjs').href);
const { totalLine } = await import(pathToFileURL('src/total.mjs').href);
assert.equal(label('tea', 250, 'USD'), 'tea (2.50 USD)');
assert.equal(totalLine([100, 50], 'CHF'), 'Total: 1.50 CHF');
