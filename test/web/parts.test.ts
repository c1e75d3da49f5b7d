/** Verdicts by hunk on the page: over diffs that the edit engine draws. */
import { describe, expect, test } from '@jest/globals';
import { changeNeeds, combinedDiff, readDiff, wordsOf } from '../../src/edits/index.js';
import { parseDiff } from '../../src/web/page/model/diff.js';
import {
  hasParts,
  hunkNeeds,
  missedNeeds,
  hunkVerdictsOf,
  selectionOf,
  verdictOf,
  type HunkVerdict,
} from '../../src/web/page/model/verdicts.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const BASE = Array.from({ length: 40 }, (_, i) => `// line ${i + 1}\n`).join('');
/** Three hunks: the first brings a name, the second holds two changes, the third uses the name. */
const RESULT = BASE.replace('// line 2\n', 'export const shout = (t) => t;\n')
  .replace('// line 18\n', '// eighteen\n')
  .replace('// line 20\n', '// twenty\n')
  .replace('// line 38\n', 'export const loud = shout(1);\n');
const diff = combinedDiff([
  { path: 'a.js', base: bytes(BASE), result: bytes(RESULT) },
  { path: 'new.js', base: null, result: bytes('1\n') },
]);
const files = parseDiff(diff);
const [a] = files;
if (a === undefined) throw new Error('the diff has no file');
const said = (...words: readonly (HunkVerdict | null)[]): Map<number, HunkVerdict> =>
  new Map(words.flatMap((word, hunk) => (word === null ? [] : [[hunk, word] as const])));

test('only edits of several hunks can be taken in part', () => {
  const sums = { key: 'k', change: 'edit' as const, by: 'model' as const, added: 1, removed: 1 };
  const proposal = {
    files: [
      { path: 'a.js', ...sums, changes: 4 },
      { path: 'new.js', ...sums },
    ],
  };
  expect(files.map((file) => hasParts(file, proposal))).toEqual([true, false]);
  expect(hasParts(a, { files: [] })).toBe(false);
});

test('what is said of hunks is said of the file, and the other way round', () => {
  expect(verdictOf(a, said('take', 'take', 'take'))).toBe('approve');
  expect(verdictOf(a, said('leave', 'leave', 'leave'))).toBe('skip');
  expect(verdictOf(a, said('take', 'leave', 'take'))).toBe('select');
  expect(verdictOf(a, said('take', null, 'take'))).toBeNull();
  expect(hunkVerdictsOf(a, 'approve', undefined)).toEqual(said('take', 'take', 'take'));
  expect(hunkVerdictsOf(a, 'skip', undefined)).toEqual(said('leave', 'leave', 'leave'));
  expect(hunkVerdictsOf(a, 'revise', undefined)).toEqual(said());
  expect(hunkVerdictsOf(a, undefined, said('take'))).toEqual(said('take'));
});

test('a part is sent as the changes of its hunks', () => {
  const hunks = new Map([['a.js', said('leave', 'take', 'take')]]);
  expect(selectionOf(files, new Map([['a.js', 'select']]), hunks)).toEqual({ 'a.js': [2, 3, 4] });
  expect(selectionOf(files, new Map([['a.js', 'approve']]), hunks)).toEqual({});
});

describe('needs', () => {
  const words = new Set(wordsOf(BASE));
  const needs = hunkNeeds(
    files,
    changeNeeds(readDiff(diff), (path) => (path === 'a.js' ? words : null)),
  );
  test('are told by hunk, in the words of the terminal', () => {
    expect(needs).toEqual([
      { path: 'a.js', hunk: 2, text: 'hunk 1 (shout)', needs: { path: 'a.js', hunk: 0 } },
    ]);
  });
  test('are missed only where the one is taken and the other left', () => {
    expect(missedNeeds(needs, () => said('leave', 'take', 'take'))).toEqual([
      'hunk 3 of a.js needs hunk 1 (shout), which you rejected',
    ]);
    for (const fine of [
      said('take', 'leave', 'take'),
      said('leave', 'take', 'leave'),
      said(null, 'take', 'take'),
    ])
      expect(missedNeeds(needs, () => fine)).toEqual([]);
  });
});
