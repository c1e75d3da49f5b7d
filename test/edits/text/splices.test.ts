/** Splices as values: made and undone. */
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { applySplices, invertSplices } from '../../../src/edits/text/splices.js';
import type { Splice } from '../../../src/edits/types.js';
import { fuzz } from '../../support/fuzz.js';

const bytes = fc.uint8Array({ maxLength: 12 });
const steps = fc.array(
  fc.record({
    keep: fc.nat({ max: 4 }),
    drop: fc.nat({ max: 4 }),
    bytes: fc.uint8Array({ maxLength: 3 }),
  }),
  {
    maxLength: 4,
  },
);

/** Splices in order within `size` bytes. */
const within = (
  size: number,
  drawn: readonly { keep: number; drop: number; bytes: Uint8Array }[],
): Splice[] => {
  let at = 0;
  return drawn.map((step) => {
    const start = Math.min(size, at + step.keep);
    const end = Math.min(size, start + step.drop);
    at = end;
    return { start, end, bytes: step.bytes };
  });
};

const at = (start: number, end: number, text: string): Splice => ({
  start,
  end,
  bytes: new TextEncoder().encode(text),
});

test('an inverse gives the base again', () => {
  fc.assert(
    fc.property(bytes, steps, (base, drawn) => {
      const splices = within(base.length, drawn);
      const result = applySplices(base, splices);
      expect(applySplices(result, invertSplices(base, splices))).toEqual(Uint8Array.from(base));
    }),
    fuzz('splices', 2_000),
  );
});

test('a result that is there already is no second copy, and a guess that is wrong changes nothing', () => {
  const base = new Uint8Array(100_000).map((_, i) => i % 251);
  const splices = [at(10, 12, 'xy'), at(50_000, 50_001, '')];
  const result = applySplices(base, splices);
  const likely = result.slice();
  expect(applySplices(base, splices, likely)).toBe(likely);
  for (const wrong of [0, 10, 49_999, 99_998]) {
    const guess = result.slice();
    guess[wrong] = (guess[wrong] ?? 0) ^ 1;
    expect(Buffer.compare(applySplices(base, splices, guess), result)).toBe(0);
  }
  expect(Buffer.compare(applySplices(base, splices, base), result)).toBe(0);
  const small = applySplices(base.slice(0, 4), [at(1, 2, 'z')]);
  expect(applySplices(base.slice(0, 4), [at(1, 2, 'z')], small)).not.toBe(small);
});
