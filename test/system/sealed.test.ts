/** The seal of a stored line shows that any byte of it was changed, and distinguishes this from half a line. */
import { expect, test } from '@jest/globals';
import { sealed, unsealed } from '../../src/system/sealed.js';

const VALUE = { v: 2, text: 'const a = "ä";\n', n: 1, none: null };
const LINE = sealed(VALUE);

test('what was written is read, and JSON that nobody sealed', () => {
  expect(unsealed(LINE)).toEqual(VALUE);
  expect(JSON.parse(LINE)).toMatchObject(VALUE);
  expect(unsealed(JSON.stringify(VALUE))).toEqual(VALUE);
});

test('one byte with one bit changed: the same value is read, or that it is damaged', () => {
  const bytes = Buffer.from(LINE);
  for (let index = 0; index < bytes.length; index++)
    for (let bit = 0; bit < 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[index] = changed[index]! ^ (1 << bit);
      const text = changed.toString();
      const read = unsealed(text);
      if (typeof read === 'object')
        expect({ index, bit, read }).toEqual({ index, bit, read: VALUE });
      else if (!text.includes('\0'))
        expect({ index, bit, read }).toEqual({ index, bit, read: 'damaged' });
    }
});

test('each beginning of a line is torn, and so is what a power cut left of zeros', () => {
  for (let end = 0; end < LINE.length; end++) expect(unsealed(LINE.slice(0, end))).toBe('torn');
  expect(unsealed(`${'\0'.repeat(20)}${LINE.slice(20)}`)).toBe('torn');
});
