/** A line that stands for lines that were left out: what is one, where its two parts stand, and what comes of them. */
import { describe, expect, test } from '@jest/globals';
import { composeElided, placeElided, splitElided } from '../../../../src/edits/formats/search-replace/elision.js';

const linesOf = (text: string): string[] => text.split('|');

describe('what stands for left out lines', () => {
  test.each([
    ...[
      '...',
      '  ...',
      '…',
      '// ...',
      '/// ...',
      '# ...',
      '## …',
      '-- ...',
      '; ...',
      '% ...',
      '/* ... */',
      '<!-- ... -->',
    ],
    ...['{/* ... */}', '// ... existing code ...', '# … rest …', '  // ...the rest...', '...\t'],
    `// ...${'x'.repeat(80)}...`,
  ])('%j', (line) => {
    expect(splitElided(['a', line, 'b'])).toEqual({ head: ['a'], tail: ['b'] });
  });

  test.each([
    ...['..', '....', '. . .', 'x ...', '... x', '// ... rest', '// existing code', 'f(...args)', '[...a]', ''],
    ...[`// ...${'x'.repeat(81)}...`, `${' '.repeat(198)}...`],
  ])('not %j', (line) => {
    expect(splitElided(['a', line, 'b'])).toBeNull();
  });

  test('up to 200 characters', () => {
    expect(splitElided(['a', `${' '.repeat(197)}...`, 'b'])).not.toBeNull();
  });

  test.each([
    ['two of them', 'a|...|b|...|c'],
    ['none', 'a|b'],
    ['nothing above', '...|b'],
    ['nothing below', 'a|...'],
    ['blanks alone above', ' |...|b'],
    ['blanks alone below', 'a|...|\t'],
  ])('%s: not split', (_, text) => {
    expect(splitElided(linesOf(text))).toBeNull();
  });

  test('blank lines may stand in a part that says something', () => {
    expect(splitElided(linesOf('a||...||b'))).toEqual({ head: ['a', ''], tail: ['', 'b'] });
  });
});

describe('where both parts stand', () => {
  const place = (text: string, head: string, tail: string) =>
    placeElided(linesOf(text), { head: linesOf(head), tail: linesOf(tail) });
  test.each([
    ['one line between', 'a|x|b', 'a', 'b', { head: 0, tail: 2 }],
    ['more between, and round it', 'w|a|x|y|b|z', 'a', 'b', { head: 1, tail: 4 }],
    ['parts of two lines', 'a|a2|x|b|b2', 'a|a2', 'b|b2', { head: 0, tail: 3 }],
    ['a part at the very end', 'a|x|b|b2', 'a', 'b|b2', { head: 0, tail: 2 }],
    ['nothing between', 'a|b', 'a', 'b', 'none'],
    ['nothing between longer parts', 'a|a2|b', 'a|a2', 'b', 'none'],
    ['no head', 'w|x|b', 'a', 'b', 'none'],
    ['no tail', 'a|x|w', 'a', 'b', 'none'],
    ['neither', 'w|x', 'a', 'b', 'none'],
    ['a head of which one line stands', 'a|w|x|b', 'a|a2', 'b', 'none'],
    ['a tail that is longer than the rest', 'a|x|b', 'a', 'b|b2', 'none'],
    ['the tail above', 'b|x|a', 'a', 'b', 'none'],
    ['a second tail below', 'a|x|b|b', 'a', 'b', 'several'],
    ['a second head above the tail', 'a|a|x|b', 'a', 'b', 'several'],
    ['a second tail above the head', 'b|a|x|b', 'a', 'b', { head: 1, tail: 3 }],
    ['a second tail right below the head', 'a|b|x|b', 'a', 'b', { head: 0, tail: 3 }],
    ['a second head right above the tail', 'a|x|a|b', 'a', 'b', { head: 0, tail: 3 }],
    ['a second head below the tail', 'a|x|b|a', 'a', 'b', { head: 0, tail: 2 }],
    ['the same line at both ends', 'a|x|a', 'a', 'a', { head: 0, tail: 2 }],
    ['the same line three times', 'a|x|a|x|a', 'a', 'a', 'several'],
  ])('%s: %s', (_, text, head, tail, expected) => {
    expect(place(text, head, tail)).toEqual(expected);
  });
});

describe('what comes of it', () => {
  const nodes = [10, 11, 12, 13, 14];
  const compose = (replace: string) =>
    composeElided({ head: ['a', 'b'], tail: ['c'] }, nodes, replace === '' ? [] : linesOf(replace));
  test.each([
    ['the mark keeps what was left out', 'a|b|...|c', [10, 11, 12, 13, 14]],
    ['new lines round it', 'a|n|...|m|c', [10, 'n', 12, 13, 'm', 14]],
    ['the mark alone', '...', [12, 13]],
    ['without the mark it goes', 'a|b|c', [10, 11, 14]],
    ['of the rest what is kept', 'n|b', ['n', 11]],
    ['all goes', '', []],
    ['a line of the head below the mark is new', '...|b|c', [12, 13, 'b', 14]],
    ['two marks', 'a|...|b|...', null],
  ])('%s: %s', (_, replace, expected) => {
    expect(compose(replace)).toEqual(expected);
  });
});
