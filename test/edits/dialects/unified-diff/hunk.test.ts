/** How far a hunk reaches, whatever its counts say, and what its lines are. */
import { describe, expect, test } from '@jest/globals';
import { openingFence } from '../../../../src/edits/text/fence.js';
import { isSignature, readHunk } from '../../../../src/edits/dialects/unified-diff/hunk.js';

/** Lines by `|`; a `~` at the end of one stands for CRLF. */
const linesOf = (text: string) => ({
  lines: text.split('|').map((line) => line.replace(/~$/, '')),
  returned: text.split('|').map((line) => Number(line.endsWith('~'))),
  isItem: () => false,
});
/** Its lines joined by `|` and the index of the line after it, or the code. */
const read = (text: string, { fence = null as string | null, whole = true } = {}) => {
  const found = readHunk(linesOf(text), 0, openingFence(fence ?? undefined), whole);
  if (!found.ok) return `${found.code}${found.open ? ' open' : ''}`;
  const { before, after, signs, lacksNewline } = found.hunk.body;
  let [old, fresh] = [0, 0];
  const shown = signs.split('').map((sign) => {
    const text = sign === '+' ? after[fresh] : before[old];
    if (sign !== '+') old += 1;
    if (sign !== '-') fresh += 1;
    const isLast = old === before.length && fresh === after.length;
    const ends =
      (sign !== '+' && lacksNewline.before && old === before.length) ||
      (sign !== '-' && lacksNewline.after && fresh === after.length);
    return `${sign}${text ?? ''}${ends && (isLast || sign !== ' ') ? '$' : ''}`;
  });
  return `${shown.join('|')} ${before.length},${after.length} next ${found.next}`;
};

describe('where a hunk ends', () => {
  test.each([
    ['by its counts', '@@ -1,2 +1,2 @@| a|-b|+c|', ' a|-b|+c 2,2 next 4'],
    ['a line for each side where none is stated', '@@ -1 +1 @@|-b|+c', '-b|+c 1,1 next 3'],
    ['of additions alone', '@@ -0,0 +1,2 @@|+a|+b', '+a|+b 0,2 next 3'],
    ['of deletions alone', '@@ -1,2 +0,0 @@|-a|-b', '-a|-b 2,0 next 3'],
    ['before the next hunk', '@@ -1 +1 @@|-b|+c|@@ -9 +9 @@|-x|+y', '-b|+c 1,1 next 3'],
    ['before the next file', '@@ -1 +1 @@|-b|+c|diff --git a/x b/x', '-b|+c 1,1 next 3'],
    [
      'before a file without git line',
      '@@ -1 +1 @@|-b|+c|--- a/x|+++ b/x|@@ -1 +1 @@',
      '-b|+c 1,1 next 3',
    ],
    ['before prose', '@@ -1 +1 @@|-b|+c|That is all.', '-b|+c 1,1 next 3'],
    ['before prose, behind blank lines', '@@ -1 +1 @@|-b|+c|||That is all.', '-b|+c 1,1 next 3'],
    ['before a signature', '@@ -1 +1 @@|-b|+c|-- |2.39.5', '-b|+c 1,1 next 3'],
    [
      'a removed -- x and an added ++ y',
      '@@ -1,2 +1,2 @@|--- x|+++ y| z',
      '--- x|+++ y| z 2,2 next 4',
    ],
    ['counts too low', '@@ -1 +1 @@| a|-b|+c', ' a|-b|+c 2,2 next 4'],
    ['counts too low on one side', '@@ -1,2 +1 @@| a|-b|+c', ' a|-b|+c 2,2 next 4'],
    ['counts too high', '@@ -1,9 +1,9 @@| a|-b|+c|@@ -30 +30 @@', ' a|-b|+c 2,2 next 4'],
    ['counts too high, before the end', '@@ -1,9 +1,9 @@| a|-b|+c', ' a|-b|+c 2,2 next 4'],
    [
      'counts too high, before a file',
      '@@ -1,9 +1,9 @@|-b|+c|--- a/x|+++ b/x|@@ -1 +1 @@',
      '-b|+c 1,1 next 3',
    ],
    ['counts that one side passes', '@@ -1,1 +1,3 @@|-a|-b|+c|+d|+e', '-a|-b|+c|+d|+e 2,3 next 6'],
    [
      'counts that the other side passes',
      '@@ -1,3 +1,1 @@|-a|+c|+d|-b|-e',
      '-a|+c|+d|-b|-e 3,2 next 6',
    ],
    ['wrong counts, blank lines behind', '@@ -1,9 +1,9 @@|-b|+c|||', '-b|+c 1,1 next 3'],
    ['a blank line within', '@@ -1,3 +1,3 @@| a||-b|+c', ' a|_|-b|+c 3,3 next 5'],
    ['blank lines that the counts take', '@@ -1,3 +1,3 @@|-b|+c||', '-b|+c|_|_ 3,3 next 5'],
    ['before the line of another file', '@@ -1,9 +1,9 @@| a|-b|+c|Index: x', ' a|-b|+c 2,2 next 4'],
    [
      'not at such a line as context',
      '@@ -1,2 +1,2 @@| Index: x|-b|+c',
      ' Index: x|-b|+c 2,2 next 4',
    ],
    [
      'nor within one',
      '@@ -1,9 +1,9 @@| a|see Index: x|-b|+c',
      ' a|_see Index: x|-b|+c 3,3 next 5',
    ],
    ['nor at half a header', '@@ -1,9 +1,9 @@|-a|--- x| y|@@ -9 +9 @@', '-a|--- x| y 3,1 next 4'],
    [
      'nor before the other half',
      '@@ -1,9 +1,9 @@|-a| x|+++ y|@@ -9 +9 @@',
      '-a| x|+++ y 2,2 next 4',
    ],
    [
      'old lines beyond the counts, before prose',
      '@@ -0,0 +1,1 @@| a|That is all.',
      ' a|_That is all. 2,2 next 3',
    ],
    [
      'new lines beyond the counts, before prose',
      '@@ -1,1 +0,0 @@| a|That is all.',
      ' a|_That is all. 2,2 next 3',
    ],
    ['a signed line behind blank lines', '@@ -1 +1 @@|-b|+c||-x', '-b|+c|_|-x 3,2 next 5'],
    ['three dashes without a file', '@@ -1,9 +1,9 @@|-a|--- x|+b', '-a|--- x|+b 2,1 next 4'],
    [
      'three dashes and pluses without a hunk',
      '@@ -1,9 +1,9 @@|--- x|+++ y| z',
      '--- x|+++ y| z 2,2 next 4',
    ],
  ])('%s', (_, text, expected) => {
    expect(read(text)).toBe(expected);
  });

  test('before the fence round the diff', () => {
    const text = '@@ -1,9 +1,9 @@|-b|+c|```|more';
    expect(read(text, { fence: '```' })).toBe('-b|+c 1,1 next 3');
    expect(read('@@ -1 +1 @@|-b|+c||```', { fence: '```' })).toBe('-b|+c 1,1 next 3');
    expect(read(text)).toBe('-b|+c|_```|_more 3,3 next 5');
    expect(read('@@ -1,2 +1,2 @@| ```|-b|+c', { fence: '```' })).toBe(' ```|-b|+c 2,2 next 4');
  });
});

describe('an answer that may be cut', () => {
  test.each([
    ['fewer lines than stated on both sides', '@@ -1,3 +1,3 @@| a|-b|+c', 'cut_hunk open'],
    ['on the old side', '@@ -1,3 +1,2 @@| a|-b|+c', 'cut_hunk open'],
    ['on the new side', '@@ -1,2 +1,3 @@| a|-b|+c', 'cut_hunk open'],
    ['with blank lines behind', '@@ -1,9 +1,9 @@| a|-b|+c||', 'cut_hunk open'],
    ['as many as stated', '@@ -1,2 +1,2 @@| a|-b|+c', ' a|-b|+c 2,2 next 4'],
    ['more than stated', '@@ -1,1 +1,1 @@| a|-b|+c', ' a|-b|+c 2,2 next 4'],
    [
      'fewer, and another hunk follows',
      '@@ -1,3 +1,3 @@| a|-b|+c|@@ -9 +9 @@|-x|+y',
      ' a|-b|+c 2,2 next 4',
    ],
  ])('%s', (_, text, expected) => {
    expect(read(text, { whole: false })).toBe(expected);
  });
});

describe('its lines', () => {
  const none = '\\ No newline at end of file';
  test.each([
    ['no newline on both sides', `@@ -1 +1 @@|-b|${none}|+c|${none}`, '-b$|+c$ 1,1 next 5'],
    ['no newline on one side, and a blank line', `@@ -1 +1 @@|-b|+c|${none}|`, '-b|+c$ 1,1 next 4'],
    [
      'within the counts, before prose',
      `@@ -1 +1 @@|-b|${none}|+c|That is all.`,
      '-b$|+c 1,1 next 4',
    ],
    ['behind them, before prose', `@@ -1 +1 @@|-b|+c|${none}|That is all.`, '-b|+c$ 1,1 next 4'],
    ['in other letters', '@@ -1 +1 @@|-b|+c|\\ no newline at END OF FILE', '-b|+c$ 1,1 next 4'],
    ['of a kept last line', `@@ -1,2 +1,2 @@|-b|+c| d|${none}`, '-b|+c| d$ 2,2 next 5'],
    ['twice of one line', `@@ -1 +1 @@|-b|+c|${none}|${none}`, 'stray_line'],
    ['of no line', `@@ -1 +1 @@|${none}|-b|+c`, 'stray_line'],
    ['before other old lines', `@@ -1,2 +1 @@|-b|${none}|-d|+c`, 'stray_line'],
    ['before other new lines', `@@ -1 +1,2 @@|-b|+c|${none}|+d`, 'stray_line'],
    ['of a kept line before others', `@@ -1,2 +1,2 @@| a|${none}|-b|+c`, 'stray_line'],
    [
      'a CR before the missing line end is text',
      `@@ -1 +1 @@|-b|+c~|${none}`,
      '-b|+c\r$ 1,1 next 4',
    ],
    ['in a diff of CRLF it is not', `@@ -1 +1 @@~|-b~|+c~|${none}~`, '-b|+c$ 1,1 next 4'],
    ['a CR before a line end is none', '@@ -1 +1 @@|-b~|+c~', '-b|+c 1,1 next 3'],
    ['a CR behind a line that ends in one', `@@ -1 +1 @@|-b~|+c~|${none}`, '-b|+c\r$ 1,1 next 4'],
    ['words without a sign', '@@ -1,2 +1,2 @@|-b|+c|d e', '-b|+c|_d e 2,2 next 4'],
    ['a tab for the blank', '@@ -1,2 +1,2 @@|-b|+c|\td', '-b|+c|_\td 2,2 next 4'],
  ])('%s', (_, text, expected) => {
    expect(read(text)).toBe(expected);
  });

  const at = (header: string, ...body: string[]) => {
    const found = readHunk(linesOf([header, ...body].join('|')), 0, null, true);
    return found.ok
      ? [found.hunk.oldAt, found.hunk.newAt, found.hunk.oldCount, found.hunk.newCount]
      : found.code;
  };
  test('where its header puts it', () => {
    expect(at('@@ -3 +5 @@', '-a', '+b')).toEqual([2, 4, 1, 1]);
    expect(at('@@ -3,0 +4,1 @@', '+b')).toEqual([3, 3, 0, 1]);
    expect(at('@@ -3,1 +2,0 @@ f()', '-b')).toEqual([2, 2, 1, 0]);
    expect(at('@@ -0,0 +1 @@', '+b')).toEqual([0, 0, 0, 1]);
    expect(at('@@ -0 +0 @@', '-a', '+b')).toEqual([-1, -1, 1, 1]);
    expect(at('@@', ' a', '-b')).toEqual([-1, -1, 2, 1]);
  });
});

test.each([
  ['-- |2.39.5', true],
  ['--|2.39.5', true],
  ['-- |10.1', true],
  ['--- |2.39.5', false],
  ['x -- |2.39.5', false],
  ['-- x|2.39.5', false],
  ['-- |v2.39.5', false],
  ['-- |2', false],
  ['-- ', false],
])('a signature: %j', (text, expected) => {
  expect(isSignature(linesOf(text).lines, 0)).toBe(expected);
});
