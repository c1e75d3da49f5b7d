/** New names that another file system would take for those of other files, or could not hold. */
import { expect, test } from '@jest/globals';
import { applyAnswer } from '../../../src/edits/index.js';
import { nameFindings } from '../../../src/edits/guards/lines.js';

test.each<[string, string[], string[], string[]]>([
  ['a name of its own', ['a.js'], ['b.js', 'src'], []],
  ['its own folder, as it is spelt', ['src/a.js'], ['src', 'src/b.js'], []],
  ['a file in other letters', ['README.MD'], ['Readme.md'], ['README.MD is new, and Readme.md']],
  ['a folder in other letters', ['LIB/new.js'], ['lib'], ['LIB is new, and lib']],
  ['a folder that a file tells of', ['LIB/new.js'], ['lib/a.js'], ['LIB is new, and lib']],
  [
    'an accent in two ways',
    ['cafe\u0301.txt'],
    ['caf\u00e9.txt'],
    ['cafe\u0301.txt is new, and caf\u00e9.txt'],
  ],
  ['two new ones', ['a/b.js', 'A/c.js'], [], ['A is new, and a']],
  [
    'a stream of a file, for Windows',
    ['lib/a.js:b'],
    [],
    ['lib/a.js:b is new, and its name (":")'],
  ],
  ['a blank that Windows drops', ['a /b.js'], [], ['a /b.js is new, and its name (" ")']],
  ['a dot that Windows drops', ['a.'], [], ['a. is new, and its name (".")']],
  ['dots and brackets inside', ['a.b/[id].c.ts', '.env'], [], []],
])('%s', (_name, made, there, expected) => {
  const found = nameFindings(made, there);
  expect(found.map(({ severity }) => severity)).toEqual(expected.map(() => 'ask'));
  expect(found.map(({ message }, at) => message.slice(0, (expected[at] ?? '').length))).toEqual(
    expected,
  );
});

test('two names of the same look are told apart by their characters', () => {
  const [composed, parted] = ['caf\u00e9.md', 'cafe\u0301.md'];
  const [finding] = nameFindings([composed], [parted]);
  expect(finding?.message).toContain('looks the same: it has U+0065 U+0301 where');
  expect(finding?.message).toContain('the new name has U+00E9');
  expect(finding?.message).not.toContain('letter case');
  expect(nameFindings(['A.md'], ['a.md'])[0]?.message).toContain('letter case');
});

test('through an answer: beside an offered file and beside what is only told of, not beside what goes', () => {
  const run = (answer: string, beside: string[] = []) =>
    applyAnswer({
      format: 'unified-diff',
      answer,
      files: new Map([['lib/a.js', { bytes: Buffer.from('a\n') }]]),
      options: { requireMarker: false, mayCreateUnder: [''], allowDelete: true, beside },
    });
  const made = (path: string): string => `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n`;
  const guards = (answer: string, beside?: string[]) => {
    const outcome = run(answer, beside);
    return outcome.outcome === 'edited'
      ? outcome.findings.map(({ guard, path }) => `${guard} ${path}`)
      : outcome;
  };
  expect(guards(made('lib/A.js'))).toEqual(['file_name lib/A.js']);
  expect(guards(made('Docs/x.md'), ['docs'])).toEqual(['file_name Docs/x.md']);
  expect(guards(made('lib/b.js'), ['docs'])).toEqual([]);
  const moved =
    'diff --git a/lib/a.js b/lib/A.js\nsimilarity index 100%\nrename from lib/a.js\nrename to lib/A.js\n';
  expect(guards(moved, ['lib/a.js'])).toEqual([]);
  expect(guards(moved, ['lib/a.JS'])).toEqual(['file_name lib/A.js']);
  const gone = '--- a/lib/a.js\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n';
  expect(guards(`${gone}${made('lib/A.js')}`, ['lib/a.js'])).toEqual(['deletion lib/a.js']);
});
