/** A line that stands for lines that were left out: what is one, where its two parts stand, and what comes of them. */
import { describe, expect, test } from '@jest/globals';
import { elisionFindings } from '../../../src/edits/guards/elision.js';
import { viewOf } from '../../../src/edits/guards/view.js';
import { placeElided, splitElided } from '../../../src/edits/locate/elision.js';
import type { Change } from '../../../src/edits/text/changes.js';
import { indexOfLines } from '../../../src/edits/text/lines.js';

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
    ...[
      '..',
      '....',
      '. . .',
      'x ...',
      '... x',
      '// ... rest',
      '// existing code',
      'f(...args)',
      '[...a]',
      '',
    ],
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

const findingsIn = (path: string, changes: readonly Change[], base: readonly string[] = []) =>
  elisionFindings(viewOf(path, indexOfLines(base), null, changes), () => false);

/** Of a file of twelve lines all but the first and the last go for `line`; `kept`: none goes. */
const reasonsOf = (
  line: string,
  kept = false,
  base = Array.from({ length: 12 }, (_, i) => `line ${i}`),
) => findingsIn('f', [{ from: 1, to: kept ? 1 : 11, lines: [line] }], base);

describe('in new text', () => {
  const ALWAYS = [
    '// ... rest of the code unchanged ...',
    '# ... existing code ...',
    '//...existing code...',
    '/* rest of the file remains the same */',
    '<!-- ... remaining content ... -->',
    '[... unchanged lines ...]',
    '// The rest of the implementation stays as before',
    '    # existing code here',
    '# rest unchanged',
    '// other methods are the same',
    '# remaining handlers...',
    '// … other methods omitted …',
    '…',
    '# …',
    '(rest unchanged)',
    '<rest of file>',
    '[8 lines omitted]',
    '...rest of file...',
    '# rest of code',
    '# <rest of file>',
    '# -- rest of the file --',
    '# === existing code ===',
    '# ... lines 4-9 ...',
    '# ... [8 more keys] ...',
    '# All other keys remain the same',
    '# No changes to the rest of the file',
  ];
  test.each(ALWAYS)('%s is refused, also where nothing goes', (line) => {
    expect(reasonsOf(line).map(({ guard }) => guard)).toEqual(['elision']);
    expect(reasonsOf(line, true).map(({ guard }) => guard)).toEqual(['elision']);
  });
  test.each([
    '// ...',
    '... (rest of the function unchanged)',
    '# Loading... keep the spinner',
    '# sort existing lines',
    ...[
      '# unchanged',
      '# (unchanged)',
      '(unchanged)',
      '# omitted',
      '# same as before',
      '# keep the rest as is',
    ],
    `... rest ${'word '.repeat(10).trim()}`,
    `  ...   rest  ${'word   '.repeat(10).trim()}`,
  ])('%s is refused where lines go', (line) => {
    expect(reasonsOf(line)).toHaveLength(1);
    expect(reasonsOf(line, true)).toEqual([]);
  });
  test.each([
    '# variant: name omitted, cls _must_ be a keyword argument, @command(cls=CommandCls, ...)',
    '// sum of the other terms',
    '# load the rest of the file',
    'const rest = [...others];',
    '  ...existing,',
    '    ...',
    'return [...previous, next];',
    '... rest of it,',
    'a ... rest of it',
    ...[
      '[...]',
      '[…]',
      '[remaining]',
      '<other>',
      '# keep the rest',
      '# unchanged lines are kept',
      '# 8 lines',
    ],
    '...rest of it',
    `... rest ${'word '.repeat(11).trim()}`,
  ])('%s is text', (line) => {
    expect(reasonsOf(line)).toEqual([]);
  });
  test('up to 300 characters', () => {
    expect(reasonsOf('# ... existing '.padEnd(300, 'w'))).toHaveLength(1);
    expect(reasonsOf('# ... existing '.padEnd(301, 'w'))).toEqual([]);
  });
  test('the line is told without its indentation, shortened, with what was lost', () => {
    expect(reasonsOf('    # ... existing code')).toEqual([
      {
        guard: 'elision',
        severity: 'refuse',
        path: 'f',
        lines: [2, 2],
        message:
          'Line 2 of the new f ("# ... existing code") replaces part of the file (9 lines fewer). Send the text itself, not a placeholder.',
      },
    ]);
    const long = `[${' '.repeat(50)}... existing ${'w'.repeat(60)}]`;
    expect(reasonsOf(long, true)).toMatchObject([
      {
        message: `Line 2 of the new f (${JSON.stringify(long.slice(0, 100))}) reads as if text were omitted. Send the text itself, not a placeholder.`,
      },
    ]);
  });
  test('a line that the file has, however it is indented, is text', () => {
    expect(
      reasonsOf('    # ... existing code', false, ['a', '# ... existing code  ', 'b']),
    ).toEqual([]);
  });
  test('a line that another file holds is text', () => {
    const view = viewOf('f', indexOfLines([]), null, [
      { from: 0, to: 0, lines: ['  // ... existing code ...', '// ... rest of the code ...'] },
    ]);
    const known = (line: string): boolean => line === '// ... existing code ...';
    expect(elisionFindings(view, known)).toMatchObject([{ lines: [2, 2] }]);
  });
  test('one of several changes has it, also in a new file', () => {
    const line = '// ... existing code ...';
    const changes = [
      { from: 0, to: 0, lines: ['x'] },
      { from: 0, to: 0, lines: [line] },
    ];
    expect(findingsIn('f', changes)).toHaveLength(1);
    expect(findingsIn('f', changes.slice(0, 1))).toEqual([]);
  });
  test.each(['...', '[...]'])('%s is text but in files of settings', (line) => {
    const inFile = (path: string) =>
      findingsIn(path, [{ from: 0, to: 0, lines: ['x', line] }]).length;
    expect(['a.conf', 'a.json', 'Makefile', 'a.py', 'a.yaml', 'a.md', 'a'].map(inFile)).toEqual([
      1, 1, 1, 0, 0, 0, 0,
    ]);
  });
});
