import assert from 'node:assert';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
for (const name of ['debounce', 'throttle', 'memoize']) {
  const make = require(`../${name}`);
  assert.throws(() => make(42), {
    name: 'TypeError',
    message: 'Expected a function, received [object Number]',
  });
  assert.equal(typeof make(() => 'still works'), 'function');
}
