/** Review comments of a pull request: by the real `gh` up to a stand-in for GitHub, by a person's own command, and what is taken of them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { noteLine, readReview, takeNotes } from '../../src/cli/commands/from-pr.js';
import {
  findGh,
  graphql,
  repositoryWith,
  startGithub,
  type Github,
  type SaidPull,
} from '../support/github.js';
import { describeIf, longOnly } from '../support/skipped.js';
import { fakeIo } from './io.js';

const COMMIT = 'c'.repeat(40);
const dir = mkdtempSync(join(tmpdir(), 'emend-review-'));
afterAll(() => rmSync(dir, { recursive: true }));
const repo = join(dir, 'repo');
execFileSync('git', ['init', '-q', '-b', 'main', repo]);
const problemOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => (error as { readonly problem?: object }).problem,
  );

const found = await findGh();
describeIf('path' in found, 'why' in found ? found.why : '')('by gh', () => {
  let github: Github;
  let pulls: readonly SaidPull[] | null = [];
  beforeAll(async () => {
    github = await startGithub(dir, (asked) =>
      graphql(
        repositoryWith(github.url, (commit) => (commit === COMMIT ? pulls : null)),
        asked,
      ),
    );
    execFileSync('git', ['-C', repo, 'remote', 'add', 'origin', `${github.url}.git`]);
  });
  afterAll(() => github.close());
  const read = (env: Record<string, string> = {}) => {
    const io = fakeIo({
      cwd: repo,
      env: { ...github.env('path' in found ? found.path : ''), ...env },
    });
    return readReview(io, repo, COMMIT);
  };

  test('all pages of the threads of the open pull request that holds the commit', async () => {
    const threads = Array.from({ length: 120 }, (_, n) => ({
      path: 'a.js',
      line: n + 1,
      isResolved: n % 2 === 1,
      comments: [['bob', 'MEMBER', `say ${n}`] as const],
    }));
    const gone = {
      path: 'b.js',
      isOutdated: true,
      diffSide: 'LEFT',
      comments: [[null, 'NONE', 'hm'] as const],
    } as const;
    pulls = [
      { state: 'CLOSED', headRefName: 'old', threads: [gone] },
      { isCrossRepository: true, headRefName: 'fork', threads: [gone] },
      { headRefName: 'emend/greet', threads: [...threads, gone] },
    ];
    github.asked.length = 0;
    const review = await read();
    expect(review).toMatchObject({
      v: 1,
      pull_request: `${github.url}/pull/9`,
      branch: 'emend/greet',
    });
    expect(review.comments).toHaveLength(121);
    expect(review.comments[1]).toEqual({
      path: 'a.js',
      line: 2,
      side: 'new',
      author: 'bob',
      text: 'say 1',
      resolved: true,
      outdated: false,
      outsider: false,
    });
    expect(review.comments[120]).toMatchObject({
      author: 'ghost',
      side: 'old',
      outdated: true,
      outsider: true,
      line: null,
    });
    // The repository, and three pages.
    expect(github.asked).toHaveLength(4);
  });

  test('no pull request, none that is open, several, a commit that is not there: what was found', async () => {
    const one = { headRefName: 'x', threads: [] };
    for (const [given, n] of [
      [[], 0],
      [[{ ...one, state: 'MERGED' as const }], 0],
      [[one, one], 2],
      [null, 0],
    ] as const) {
      pulls = given;
      expect(await problemOf(read())).toMatchObject({
        code: 'usage',
        message: `Expected one open pull request with cccccccccccc from a branch of ann/greeter, found ${n}.`,
      });
    }
  });

  longOnly('eleven pages by `gh`; the refusals that pass show how one is told')(
    'more threads than are read, and a token that does not count: a refusal with the reason',
    async () => {
      const thread = { path: 'a.js', comments: [] };
      pulls = [{ headRefName: 'x', threads: Array.from({ length: 1_001 }, () => thread) }];
      expect(await problemOf(read())).toMatchObject({
        code: 'limit_reached',
        message: expect.stringContaining('over 1000 threads'),
      });
      expect(await problemOf(read({ GH_ENTERPRISE_TOKEN: 'another' }))).toMatchObject({
        code: 'git_failed',
        message: expect.stringMatching(/^Cannot read the review comments: gh: .*401/),
      });
    },
  );
});

/** `review_comments` of a person that prints this; `gh` knows no host here, or is not there. */
const printed = async (what: unknown) => {
  const config = join(dir, 'own', 'emend');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(dir, 'comments.json'), typeof what === 'string' ? what : JSON.stringify(what));
  const script = `test "$REVIEW_COMMIT" = ${COMMIT} && cat "$0"`;
  const command = JSON.stringify(['sh', '-c', script, join(dir, 'comments.json')]);
  writeFileSync(join(config, 'config.yaml'), `review_comments: ${command}\n`);
  const env = {
    PATH: process.env.PATH,
    HOME: dir,
    XDG_CONFIG_HOME: join(dir, 'own'),
    GH_TOKEN: '',
  };
  return readReview(fakeIo({ cwd: repo, env }), repo, COMMIT);
};
const REVIEW = {
  v: 1,
  pull_request: 'https://git.example.net/7',
  branch: 'emend/greet',
  comments: [],
};

test('a command that a person set: its JSON, with defaults for what it leaves out', async () => {
  const review = await printed({ ...REVIEW, comments: [{ text: 'hm', more: 1 }] });
  expect(review.comments).toEqual([
    {
      path: null,
      line: null,
      side: 'new',
      author: 'unknown',
      text: 'hm',
      resolved: false,
      outdated: false,
      outsider: false,
    },
  ]);
});

test('a command that prints something else: where it is wrong; one that fails: what it says', async () => {
  for (const [what, message] of [
    ['<html>', 'review_comments: JSON: Invalid input'],
    [[], 'review_comments: JSON: Invalid input'],
    [{ ...REVIEW, v: 2 }, 'review_comments: v: Invalid input: expected 1'],
    [
      { ...REVIEW, comments: [{ text: 'a', line: 0 }] },
      'review_comments: comments.0.line: Too small',
    ],
  ] as const)
    expect(await problemOf(printed(what))).toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(message),
      next: 'See docs/headless.md.',
    });
  const odd = join(dir, 'odd');
  mkdirSync(join(odd, 'emend'), { recursive: true });
  writeFileSync(join(odd, 'emend', 'config.yaml'), 'notifiy: x\n');
  const own = fakeIo({ cwd: repo, env: { HOME: dir, XDG_CONFIG_HOME: odd } });
  expect(await problemOf(readReview(own, repo, COMMIT))).toMatchObject({
    message: expect.stringContaining('config.yaml:1: notifiy: unknown key; did you mean `notify`?'),
    next: expect.stringContaining('docs/headless.md'),
  });
  const io = fakeIo({
    cwd: repo,
    env: { PATH: '/nowhere', HOME: dir, XDG_CONFIG_HOME: join(dir, 'none') },
  });
  expect(await problemOf(readReview(io, repo, COMMIT))).toMatchObject({
    code: 'git_failed',
    message: 'Cannot read the review comments: gh is not on PATH.',
    next: expect.stringContaining('review_comments'),
  });
});

const comment = (more: object) => ({
  path: 'a.js',
  line: 3,
  side: 'new' as const,
  author: 'bob',
  text: 'Rename this.',
  resolved: false,
  outdated: false,
  outsider: false,
  ...more,
});

test('what is taken: unresolved comments of people who may push, by file; everything else is counted', async () => {
  const { notes, leftOut } = await takeNotes(
    [
      comment({}),
      comment({ resolved: true }),
      comment({ resolved: true, outdated: true }),
      comment({ outdated: true }),
      comment({ outsider: true, author: 'mallory' }),
      comment({ outsider: true, author: 'carol', path: '../../etc/passwd', line: null }),
      comment({ path: null, line: null, text: 'All of it.' }),
      comment({ side: 'old', line: 9 }),
    ],
    ['a.js'],
    ['carol'],
  );
  expect(notes.map(noteLine)).toEqual([
    'a.js:3  bob: Rename this.',
    '../../etc/passwd  carol: Rename this.  (not of a file of this run)',
    'the pull request  bob: All of it.  (not of a file of this run)',
    'a.js:9 before the change  bob: Rename this.',
  ]);
  expect(notes.map(({ path }) => path)).toEqual(['a.js', null, null, 'a.js']);
  expect(leftOut).toEqual([
    '2 resolved',
    '1 outdated',
    '1 of people who cannot push (--author takes them)',
  ]);
});

test('a comment is bounded, shows what hides in it and holds no secret, not even half of one', async () => {
  const secret = `ghp_${'Zk3vQ9xR2mT7bW1n'.repeat(2)}Ab12`;
  const { notes, leftOut } = await takeNotes(
    [
      comment({ text: `a\u202Eb\u0007 ${secret}`, author: `x\n# y ${secret}`, path: 'sub/n' }),
      comment({ path: 'n\nm' }),
      comment({ text: `${'x'.repeat(980)} ${secret}` }),
      ...Array.from({ length: 60 }, () => comment({ text: 'y'.repeat(5_000) })),
    ],
    ['sub/n'],
    [],
  );
  expect(notes[0]).toEqual({
    path: 'sub/n',
    place: 'sub/n:3',
    author: 'x # y (secret)',
    text: 'a\\u{202E}b\\x07 (secret)',
  });
  expect(notes[1]).toMatchObject({ path: null, place: 'n m:3' });
  expect(notes[2]?.text).toBe(`${'x'.repeat(980)} (secret)`);
  expect(notes[3]?.text).toBe(`${'y'.repeat(1_000)}…`);
  expect(notes).toHaveLength(50);
  expect(leftOut).toEqual(['13 over the limit of 50']);
  expect(JSON.stringify(notes)).not.toContain('ghp_');
});
