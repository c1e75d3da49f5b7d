import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import { rebase3 } from '../../src/edits/merge.js';
import { fuzz } from '../support/fuzz.js';

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'latin1'));
const merge = (base: string, ours: string, theirs: string): string => {
  const merged = rebase3(bytes(base), bytes(ours), bytes(theirs));
  return merged.outcome === 'clean' ? Buffer.from(merged.bytes).toString('latin1') : 'conflict';
};

describe('rebase3', () => {
  test.each([
    ['both sides, apart', 'a\nb\nc\nd\n', 'A\nb\nc\nd\n', 'a\nb\nc\nD\n', 'A\nb\nc\nD\n'],
    ['the same change', 'a\nb\n', 'a\nB\n', 'a\nB\n', 'a\nB\n'],
    ['only theirs', 'a\r\nb\n', 'a\r\nb\n', 'x\na\r\nb', 'x\na\r\nb'],
    ['only ours', 'a\n', '', 'a\n', ''],
    [
      'bytes of no encoding',
      '\xff\n\xfe\n\x00\nz\n',
      '\xfd\n\xfe\n\x00\nz\n',
      '\xff\n\xfe\n\x00\nz\xe9\n',
      '\xfd\n\xfe\n\x00\nz\xe9\n',
    ],
    ['CR only', 'a\rb\rc\rd\r', 'A\rb\rc\rd\r', 'a\rb\rc\rD\r', 'A\rb\rc\rD\r'],
    [
      'no line is unique',
      'x\nx\nx\nx\n',
      'y\nx\nx\nx\nx\n',
      'x\nx\nx\nx\nz\n',
      'y\nx\nx\nx\nx\nz\n',
    ],
    [
      "names of Object's own members as lines",
      '__proto__\nconstructor\nq\nr\n',
      '__proto__\nconstructor\nq\nR\n',
      'new\n__proto__\nconstructor\nq\nr\n',
      'new\n__proto__\nconstructor\nq\nR\n',
    ],
    ['empty all round', '', '', '', ''],
    ['same line', 'a\nb\nc\n', 'a\nX\nc\n', 'a\nY\nc\n', 'conflict'],
    ['adjoining lines', 'a\nb\nc\n', 'A\nb\nc\n', 'a\nB\nc\n', 'conflict'],
    ['both insert at one place', 'a\nb\n', 'a\nX\nb\n', 'a\nY\nb\n', 'conflict'],
    [
      'both append, one with a change above',
      'a\nx\n}\n',
      'A\nx\n}\nf\n}\n',
      'a\nx\n}\ng\n}\n',
      'conflict',
    ],
    ['changed against deleted', 'a\nb\nc\n', 'a\nc\n', 'a\nB\nc\n', 'conflict'],
    ['LF against CRLF', 'a\nb\n', 'a\r\nb\r\n', 'a\nB\n', 'conflict'],
  ])('%s', (_, base, ours, theirs, expected) => {
    expect(merge(base, ours, theirs)).toBe(expected);
  });

  test('a conflict says where, in lines of each version', () => {
    expect(
      rebase3(bytes('a\nb\nc\nd\ne\n'), bytes('0\na\nb\nc\nX\ne\n'), bytes('a\nb\nc\nY\nZ\ne\n')),
    ).toEqual({
      outcome: 'conflict',
      regions: [
        {
          base: { first: 4, count: 1 },
          ours: { first: 5, count: 1 },
          theirs: { first: 4, count: 2 },
        },
      ],
    });
  });

  test('properties: one side unchanged gives the other; sides may be swapped; separate changes both arrive', () => {
    const line = fc
      .constantFrom('', '}', 'a', 'b', 'c', 'd', 'e f', 'g')
      .chain((l) => fc.constantFrom(`${l}\n`, `${l}\r\n`));
    const text = fc.array(line, { maxLength: 30 }).map((lines) => lines.join(''));
    fc.assert(
      fc.property(text, text, text, (base, x, y) => {
        expect(merge(base, base, x)).toBe(x);
        expect(merge(base, x, base)).toBe(x);
        expect(merge(base, x, x)).toBe(x);
        expect(merge(base, x, y) === 'conflict').toBe(merge(base, y, x) === 'conflict');
      }),
      fuzz('merges', 300),
    );
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 10 }),
        text,
        text,
        (middle, top, bottom) => {
          const [kept, before, after] = ['unique keeper\n', 'old top\n', 'old bottom\n'];
          const base = before + middle.join('') + kept + after;
          expect(
            merge(
              base,
              top + middle.join('') + kept + after,
              before + middle.join('') + kept + bottom,
            ),
          ).toBe(top + middle.join('') + kept + bottom);
        },
      ),
      fuzz('separate changes', 300),
    );
  });

  test('200,000 lines with changes far apart are merged, not compared pair by pair', () => {
    const lines = Array.from({ length: 200_000 }, (_, i) => (i % 3 === 0 ? '}\n' : `line ${i}\n`));
    const changed = (...at: number[]): string =>
      lines.map((line, i) => (at.includes(i) ? 'changed\n' : line)).join('');
    expect(
      merge(lines.join(''), changed(10, 150_000), changed(90_000, 199_999)) ===
        changed(10, 150_000, 90_000, 199_999),
    ).toBe(true);
  });
});
