/** The table of named references: always what a set of them says. */
import { expect, test } from '@jest/globals';
import { NamedRefs } from '../../../src/client/gc/named.js';
import { refOf } from '../../../src/system/hash.js';
import { randomFrom, seed } from '../../support/seeded.js';

const REFS = 100_000;
const refOfNumber = (n: number) => refOf(new TextEncoder().encode(String(n)));

test(`names what was added, once, also after it has grown (seed ${seed})`, () => {
  const random = randomFrom(seed);
  const refs = new NamedRefs();
  const added = new Set<string>();
  for (let n = 0; n < REFS; n += 1) {
    const ref = refOfNumber(Math.floor(random() * REFS));
    expect(refs.addFrom(`{"ref":"${ref}","again":"${ref}"}`)).toEqual(added.has(ref) ? [] : [ref]);
    added.add(ref);
  }
  for (let n = 0; n < REFS; n += 1)
    if (refs.has(refOfNumber(n)) !== added.has(refOfNumber(n)))
      expect(refOfNumber(n)).toBe('known');
  expect(refs.addFrom('sha256:0123 and sha256:xyz')).toEqual([]);
});
