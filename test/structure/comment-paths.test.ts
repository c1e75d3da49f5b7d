/** Each path of this repository that a comment names exists, so that a reader can open it. Exceptions are in a table, each with its reason. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { commentRanges } from '../support/comments.js';

const root = process.cwd();

/** Files whose comments are read. */
const COMMENTED =
  /^(?:(?:src|test|scripts|bench|demo|exam)\/.*\.(?:tsx?|js)|(?:worker|client)\.ts|docker-compose\.yml)$/;

/** Paths that comments name although this repository has no such file, by the reason. */
const NOT_OF_THIS_REPOSITORY: Readonly<Record<string, readonly string[]>> = {
  'an example of a file in the repository of a user': [
    './a.js',
    'a.ts',
    'b.ts',
    'src/a.js',
    'src/a.ts',
    'src/ready.js',
    'x/x.md',
  ],
  'an example of a job or a plan of a user': [
    '010_demo/010_demo.md',
    'jobs/010_greet-politely.md',
    'jobs/first.md',
    'plans/010_demo.md',
    'plans/010_demo/010_demo.md',
    'specs/plans/010.md',
    'summaries/NNN_partial.md',
  ],
  'an example of a command that leaves the extension out': ['scripts/build'],
  'an example of an import': ['./x.js', './x.ts'],
  'a file of a package': ['lib/activity.js'],
  'a name that stands for any file': ['FILE.ts', 'credentials.ts', 'file.ts'],
};
const exceptions = new Set(Object.values(NOT_OF_THIS_REPOSITORY).flat());

/** Files of this repository, with those that are not committed yet; without those that were deleted. */
const repositoryFiles = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '-z'],
  { encoding: 'utf8', maxBuffer: 2 ** 26 },
)
  .split('\0')
  .filter((path) => path !== '' && existsSync(join(root, path)));

/** Every folder above a path, nearest first; '' is the root. */
const foldersAbove = (path: string): readonly string[] => {
  const folder = dirname(path);
  return folder === '.' ? [''] : [folder, ...foldersAbove(folder)];
};

const existingPaths = new Set(repositoryFiles.flatMap((path) => [path, ...foldersAbove(path)]));
const fileNames = new Set(repositoryFiles.map((path) => basename(path)));
const topFolders = new Set(
  repositoryFiles.filter((path) => path.includes('/')).map((path) => path.split('/')[0]),
);

/** Returns the comments of a source or of docker-compose.yml. */
const commentsOf = (path: string, text: string): readonly string[] =>
  path.endsWith('.yml')
    ? (text.match(/(?<=^|\s)#.*/gm) ?? [])
    : commentRanges(path, text).map(({ pos, end }) => text.slice(pos, end));

/** A word with a slash that does not continue a longer word, a URL or an absolute path. A pattern (`*`, `<name>`, `{a,b}`) is no path. */
const WORD = /(?<![\w@$<>{}*~:/.…-])(?:\.{1,2}\/)*[\w@.-]+(?:\/[\w@.-]+)+(?!\w*\/?[*{<…$[(])/g;

/** Words that claim to be a path of this repository: they begin with one of its top folders, or end as a source or a document does. */
const pathsIn = (comment: string): readonly string[] =>
  (comment.match(WORD) ?? [])
    .map((word) => word.replace(/[.-]+$/, ''))
    .filter((word) => topFolders.has(word.split('/')[0]) || /\.(?:tsx?|js|md)$/.test(word));

/** The name of a source without its folder, as in "the cases of io.test.ts". */
const FILE_NAME = /(?<![\w@$<>{}*~:/.…-])[\w.-]+\.tsx?(?![\w/-])/g;

/** Paths begin at the root, at `src`, or at a folder above the file. `docs/decisions/0033` names a decision by its number. */
const exists = (path: string, named: string): boolean =>
  ['', 'src', ...foldersAbove(path)].some((folder) => existingPaths.has(join(folder, named))) ||
  (/^docs\/decisions\/\d{4}$/.test(named) &&
    repositoryFiles.some((file) => file.startsWith(`${named}-`)));

const stalePaths = (path: string, text: string): readonly string[] =>
  commentsOf(path, text)
    .flatMap((comment) => [
      ...pathsIn(comment).filter((named) => !exists(path, named)),
      ...(comment.match(FILE_NAME) ?? []).filter((named) => !fileNames.has(named)),
    ])
    .filter((named) => !exceptions.has(named));

describe('paths in comments', () => {
  const sources = repositoryFiles.filter((path) => COMMENTED.test(path));

  test('each path that a comment names exists', () => {
    expect(sources.length).toBeGreaterThan(900);
    const stale = sources.flatMap((path) =>
      stalePaths(path, readFileSync(join(root, path), 'utf8')).map((named) => `${path}: ${named}`),
    );
    expect(stale).toEqual([]);
  }, 60_000);

  test('each exception is still needed', () => {
    const text = sources.map((path) => readFileSync(join(root, path), 'utf8')).join('\n');
    expect([...exceptions].filter((named) => !text.includes(named))).toEqual([]);
    expect([...exceptions].filter((named) => exists('src/made-up.ts', named))).toEqual([]);
  });

  test.each([
    ['a line', '// The order is in src/edits/gone.ts.'],
    ['a block', '/* See `src/edits/gone.ts`. */'],
    [
      'the doc of a member',
      'interface A {\n  /** As src/edits/gone.ts has it. */\n  a: string;\n}',
    ],
    ['the end of a block', 'if (a) {\n  b();\n  // As in src/edits/gone.ts.\n}'],
    ['the end of a line', 'f(); // src/edits/gone.ts does the rest'],
  ])('a path that does not exist is found in %s', (_, text) => {
    expect(stalePaths('src/edits/made-up.ts', text)).toEqual(['src/edits/gone.ts']);
  });

  test.each([
    ['a folder', 'test/structur', '// See test/structur.'],
    ['a path from src', 'workflows/step/gone.ts', '// See workflows/step/gone.ts.'],
    ['a document', 'docs/gone.md', '// See docs/gone.md: it has the table.'],
    ['a decision', 'docs/decisions/9999', '// As decided (docs/decisions/9999).'],
    ['a name without a folder', 'long-gone.ts', '// See long-gone.ts.'],
    ['a path from the own folder', './gone.ts', '// See ./gone.ts.'],
  ])('%s that does not exist is found', (_, named, text) => {
    expect(stalePaths('src/edits/made-up.ts', text)).toEqual([named]);
  });

  test.each([
    [
      'paths that exist',
      '// src/edits/index.ts, edits/index.ts, ./index.ts, test/structure and docs/decisions/0033.',
    ],
    ['a string', "const path = 'src/edits/gone.ts';"],
    ['a template', 'const path = `${a} // src/edits/gone.ts`;'],
    ['a regular expression', 'const path = /\\/\\/ src\\/edits/;'],
    ['a pattern', '// Each of test/scenarios/6xx_symbol_* and src/<name>/index.ts.'],
    ['an address', '// https://github.com/someone/something/src/gone.ts'],
    ['an alternative', '// Read and/or write.'],
  ])('%s gives no alarm', (_, text) => {
    expect(stalePaths('src/edits/made-up.ts', text)).toEqual([]);
  });
});
