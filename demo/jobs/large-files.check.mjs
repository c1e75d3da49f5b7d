import assert from 'node:assert';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const core = require('../core.js');
const lodash = require('../lodash.js');
const convert = require('../fp/_baseConvert.js');
const tells = (tag, call) =>
  assert.throws(call, {
    name: 'TypeError',
    message: `Expected a function, received [object ${tag}]`,
  });

tells('String', () => core.before(2, 'later'));
tells('Undefined', () => core.negate());
for (const name of ['debounce', 'throttle', 'memoize']) tells('Number', () => lodash[name](42));
tells('Null', () => convert(lodash, 'map', null));
assert.equal(lodash.memoize(lodash.identity)('still works'), 'still works');
