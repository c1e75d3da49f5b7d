import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

import {
  hintedPaths,
  inspectTarget,
  listWorkspaceFiles,
  newFilesRefused,
} from '../../../src/workspace/files/index.js';
import { tempDir } from '../../client/fake.js';

const FILES = [
  'src/core/runner.rs',
  'src/core/mod.rs',
  'src/util/mod.rs',
  'README.md',
  'Makefile',
  'docs/a b.md',
  'lib/index.ts',
  'src/ünï.ts',
  'a.b/c',
];

test.each<[string, string, string[]]>([
  ['a path in prose', 'Change src/core/runner.rs, please.', ['src/core/runner.rs']],
  ['a path in a code span', 'Change `src/core/runner.rs`.', ['src/core/runner.rs']],
  [
    'in order of first mention, once',
    '`README.md` then lib/index.ts then README.md',
    ['README.md', 'lib/index.ts'],
  ],
  ['a file name that one file has', 'See runner.rs.', ['src/core/runner.rs']],
  ['a file name that two files have', 'See mod.rs.', []],
  ['the end of one path', 'See core/mod.rs.', ['src/core/mod.rs']],
  ['a bare word needs a code span', 'The Makefile of `Makefile`', ['Makefile']],
  ['a bare word alone', 'The Makefile', []],
  ['blanks only in a code span', 'Edit `docs/a b.md`', ['docs/a b.md']],
  [
    'leading ./, line numbers, punctuation',
    './lib/index.ts:12:5, (src/core/mod.rs#L3-L9)! README.md?',
    ['lib/index.ts', 'src/core/mod.rs', 'README.md'],
  ],
  [
    'quotes and brackets',
    '"README.md" [index](lib/index.ts) <src/ünï.ts>',
    ['README.md', 'lib/index.ts', 'src/ünï.ts'],
  ],
  ['a directory with a dot', 'a.b/c', ['a.b/c']],
  ['an address is no path', 'https://example.org/lib/index.ts', []],
  ['part of a name is no mention', 'myrunner.rs xREADME.md', []],
  ['double back ticks', 'Use ``README.md``', ['README.md']],
  ['files that are not there', 'src/none.ts `also/none.ts`', []],
  [
    'fences do not count beside prose',
    'Edit README.md\n```ts\nimport x from "lib/index.ts"\n```\n',
    ['README.md'],
  ],
  [
    'fences count where prose names nothing',
    'Make this work:\n~~~\nlib/index.ts:1 fails\n~~~\n',
    ['lib/index.ts'],
  ],
  ['an open fence goes to the end', 'README.md\n```\nlib/index.ts\n', ['README.md']],
  ['nothing', '', []],
])('%s', (_, text, expected) => {
  expect(hintedPaths(text, FILES)).toEqual(expected);
});

test('files of a git directory, whatever it is called, are no targets, none that a model may make, and not listed', async () => {
  const dir = await tempDir();
  const git = (...args: string[]) => execFileSync('git', ['-C', dir, ...args]);
  git('init', '-q', '--separate-git-dir', join(dir, '.repo'), dir);
  git('init', '-q', '--bare', join(dir, 'b'));
  await writeFile(join(dir, 'a.txt'), 'a\n');
  const [there, absent] = [
    ['.repo/config', 'b/HEAD'],
    ['.repo/hooks/post-commit', 'b/objects/new/x'],
  ];
  const why = expect.stringContaining('the path is in a `.git` folder');
  for (const path of [...there, ...absent])
    expect(await inspectTarget(dir, path, null)).toMatchObject({
      problem: { code: 'target_outside', message: why },
    });
  const settings = { create: true, protected: [] } as unknown as Parameters<
    typeof newFilesRefused
  >[2];
  expect([...(await newFilesRefused(dir, absent, settings))]).toEqual(
    absent.map((path) => [path, why]),
  );
  expect(await listWorkspaceFiles(dir)).toEqual(['a.txt']);
});
