/** Sides with more differences than one diff takes: compared window by window, or by anchors. What comes out is as sound as one diff, and as good where lines tell themselves apart. */
import { expect, jest, test } from '@jest/globals';
import { diffArrays } from 'diff';
import fc from 'fast-check';
import { ByteText } from '../../src/edits/text/byte-text.js';
import { combinedDiff } from '../../src/edits/proposal/write-diff.js';
import {
  lineOrigins,
  DIFF_EDITS,
  DIFF_WHOLE_LINES,
  DIFF_WINDOW_LINES,
} from '../../src/edits/text/line-diff.js';
import { applyAnswer } from '../../src/edits/apply-answer.js';
import { fuzz } from '../support/fuzz.js';
import { drawn } from '../support/seeded.js';
import { longOnly } from '../support/skipped.js';

/** Made smaller, a case has no longer too many differences: the one that fails is told as it is. */
const AS_DRAWN = { endOnFailure: true };

interface Sides {
  readonly base: string[];
  readonly result: string[];
}

/** A stretch of kept lines, then some that go and some that come: thin enough for a window of either side, or too thick. */
const edits = fc.constantFrom(20, 150, 200, 250).chain((keepMost) =>
  fc.array(
    fc.record({
      keep: fc.nat({ max: keepMost }),
      gone: fc.nat({ max: 4 }),
      come: fc.nat({ max: 4 }),
    }),
    {
      minLength: 20,
      maxLength: 60,
    },
  ),
);
/** Edits until there are just too many for one diff; among them a stretch that has nothing in common: there the windows end, and anchors go on. */
const sides = (kinds: number, baseLines = 2 * DIFF_WINDOW_LINES): fc.Arbitrary<Sides> =>
  fc
    .record({
      edits,
      foreign: fc.constantFrom(0, 0, 150, 450),
      foreignAt: fc.integer({ min: 0, max: 2 * DIFF_WINDOW_LINES }),
    })
    .map(({ edits: drawn, foreign, foreignAt }) => {
      const made: Sides = { base: [], result: [] };
      const { base, result } = made;
      const line = (n: number): string =>
        n % 3 === 0 && kinds > 0 ? `}${n % kinds}` : `line ${n}`;
      let differences = 0;
      const replace = (gone: number, come: number): void => {
        for (let i = 0; i < gone; i += 1) base.push(`old ${base.length}`);
        for (let i = 0; i < come; i += 1) result.push(`new ${result.length}`);
        differences += gone + come;
      };
      let isForeignDone = false;
      for (let n = 0; differences <= DIFF_EDITS || base.length <= baseLines; n += 1) {
        const { keep, gone, come } = drawn[n % drawn.length] ?? { keep: 1, gone: 1, come: 1 };
        for (let i = 0; i <= keep; i += 1) {
          const text = line(base.length);
          base.push(text);
          result.push(text);
        }
        replace(gone, come);
        if (!isForeignDone && base.length > foreignAt) {
          replace(foreign, foreign);
          isForeignDone = true;
        }
        // A draw without any difference.
        if (n % drawn.length === drawn.length - 1 && differences === 0) replace(1, 1);
      }
      return made;
    });

const unwindowed = (base: string[], result: string[]): number[] => {
  const origins: number[] = [];
  let b = 0;
  for (const { added, removed, count } of diffArrays(base, result)) {
    for (let i = 0; i < count && !removed; i += 1) origins.push(added ? -1 : b + i);
    if (!added) b += count;
  }
  return origins;
};

const text = (lines: readonly string[]): Uint8Array => Buffer.from(`${lines.join('\n')}\n`);
const expectSound = ({ base, result }: Sides, origins: readonly number[]): void => {
  expect(origins.length).toBe(result.length);
  let last = -1;
  for (const [i, o] of origins.entries()) {
    if (o < 0) continue;
    if (o <= last || base[o] !== result[i])
      throw new Error(`result line ${i} cannot be base line ${o}`);
    last = o;
  }
};

test('lines that stand once: the same as one diff of the whole', () => {
  fc.assert(
    fc.property(sides(0), (s) => {
      const origins = [...lineOrigins(s.base, s.result)];
      expectSound(s, origins);
      expect(origins).toEqual(unwindowed(s.base, s.result));
    }),
    { ...fuzz('windows over lines that stand once', drawn(1, 3)), ...AS_DRAWN },
  );
});

test('lines that repeat: sound, and nearly as much is kept', () => {
  fc.assert(
    fc.property(fc.constantFrom(1, 5, 50).chain(sides), (s) => {
      const origins = [...lineOrigins(s.base, s.result)];
      expectSound(s, origins);
      const count = (all: readonly number[]): number => all.filter((o) => o >= 0).length;
      expect(count(origins)).toBeGreaterThanOrEqual(0.95 * count(unwindowed(s.base, s.result)));
    }),
    { ...fuzz('windows over lines that repeat', drawn(1, 4)), ...AS_DRAWN },
  );
});

longOnly('ten seconds for one pair of sides')(
  'sides so long that windows come first: as strings and as bytes the same, sound, and nearly as much is kept',
  () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0, 5, 50).chain((kinds) => sides(kinds, DIFF_WHOLE_LINES)),
        (s) => {
          const origins = [...lineOrigins(s.base, s.result)];
          expectSound(s, origins);
          const [base, result] = [
            ByteText.of(text(s.base), 0, 'utf8'),
            ByteText.of(text(s.result), 0, 'utf8'),
          ];
          expect([...lineOrigins(base, result)]).toEqual(origins);
          const count = (all: readonly number[]): number => all.filter((o) => o >= 0).length;
          const kept = diffArrays(s.base, s.result).reduce(
            (sum, part) => sum + (part.added || part.removed ? 0 : part.count),
            0,
          );
          expect(count(origins)).toBeGreaterThanOrEqual(0.95 * kept);
        },
      ),
      { ...fuzz('long sides', 1), ...AS_DRAWN },
    );
  },
);

test('between anchors no line is compared again and again, however long the sides are alike', () => {
  const foreign = (side: string): string[] =>
    Array.from({ length: 2 * DIFF_WINDOW_LINES }, (_, i) => `${side} ${i}`);
  const alike = Array.from(
    { length: DIFF_WHOLE_LINES },
    (_, i) => `a line of both sides, the one with number ${i}`,
  );
  const sidesOf = (side: string): ByteText =>
    ByteText.of(text([...foreign(side), ...alike, ...foreign(side)]), 0, 'utf8');
  const [base, result] = [sidesOf('old'), sidesOf('new')];
  const compared = [
    jest.spyOn(ByteText.prototype, 'isLine'),
    jest.spyOn(Buffer.prototype, 'compare'),
  ];
  try {
    const kept = [...lineOrigins(base, result)].filter((origin) => origin >= 0);
    expect(kept).toEqual(alike.map((_, i) => 2 * DIFF_WINDOW_LINES + i));
    const calls = compared.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
    expect(calls).toBeLessThan(2 * base.length);
  } finally {
    for (const spy of compared) spy.mockRestore();
  }
});

test('the diff of such sides applies to the result, as does the whole file', () => {
  fc.assert(
    fc.property(fc.constantFrom(0, 1, 5, 50).chain(sides), (s) => {
      const [bytes, result] = [text(s.base), text(s.result)];
      const files = new Map([['a.txt', { bytes }]]);
      const answers = {
        'unified-diff': combinedDiff([{ path: 'a.txt', base: bytes, result }]),
        'whole-file': `FILE a.txt\n${Buffer.from(result).toString()}END FILE\n`,
      } as const;
      for (const format of ['unified-diff', 'whole-file'] as const) {
        const outcome = applyAnswer({
          format,
          answer: answers[format],
          files,
          options: { requireMarker: false },
        });
        const file = outcome.outcome === 'edited' ? outcome.files.get('a.txt') : undefined;
        const found =
          file === undefined || file === 'absent'
            ? outcome
            : Buffer.from(file.bytes).equals(result);
        expect({ format, found }).toEqual({ format, found: true });
      }
    }),
    { ...fuzz('windowed sides as answers', drawn(1, 3)), ...AS_DRAWN },
  );
});
