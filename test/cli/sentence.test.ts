/** A job in words: every key of a job is a flag, files are relative to where one stands, and what is wrong names the flag. */
import { mkdir, mkdtemp, readdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { buildProgram } from '../../src/cli/program.js';
import { jobFlags, jobOfSentence } from '../../src/cli/sentence.js';
import { isPathKey, JOB_KEYS, keyTakes, keyValue } from '../../src/documents/job/index.js';
import { Repo } from '../workspace/git-fixture.js';
import { sampled } from '../support/seeded.js';
import { fakeIo } from './io.js';

let dir: string;
let repo: Repo;
const inRepo = async (): Promise<void> => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'emend sentence-')));
  repo = await Repo.make({ dir: await mkdtemp(join(dir, 'repo-')) });
  await mkdir(join(repo.dir, 'src'));
  for (const name of ['a.js', 'b.js']) await writeFile(join(repo.dir, 'src', name), `${name}\n`);
};

/** The job that a command line stands for. */
const jobOf = async (line: readonly string[], cwd = join(repo.dir, 'src'), stdin?: string) => {
  const io = fakeIo({
    cwd,
    ...(stdin === undefined ? {} : { stdin: new TextEncoder().encode(stdin) }),
  });
  const run = buildProgram(io, () => undefined, jobFlags())
    .commands.find((command) => command.name() === 'run')
    ?.exitOverride();
  run?.action(() => undefined);
  await run?.parseAsync(line, { from: 'user' });
  const { message = '', ...flags } = run?.opts<{ message?: string }>() ?? {};
  return jobOfSentence(io, message, run?.args ?? [], flags);
};

describe('flags', () => {
  test('every key of a job has one, which says what it takes', () => {
    const flags = jobFlags();
    expect(flags.map((flag) => flag.attributeName())).toEqual(
      // Those two go with a job file as well, and so are flags of `run` itself.
      JOB_KEYS.filter((key) => !['repository', 'base'].includes(key)).map((key) =>
        key.replace(/_./g, (two) => two.charAt(1).toUpperCase()),
      ),
    );
    expect(flags.filter((flag) => !/^--[a-z]+(-[a-z]+)*$/.test(flag.long ?? ''))).toEqual([]);
    expect(flags.filter((flag) => flag.description.length < 8)).toEqual([]);
    expect(JOB_KEYS.filter(isPathKey)).toEqual(
      JOB_KEYS.filter((key) => /_(files?|dir)$/.test(key)),
    );
    expect(keyTakes('mode').words).toBe('one of edit, standard, sequential');
  });

  test.each([
    ['commit', ['true'], true],
    ['commit', ['Fix: a #2'], 'Fix: a #2'],
    ['commit', ['[ABC-1] fix'], '[ABC-1] fix'],
    ['commit', ['42'], '42'],
    ['commit', ['yes'], 'yes'],
    ['test', ['npm test: unit'], 'npm test: unit'],
    ['test', ['false'], false],
    ['test', ['[npm test, npm run lint]'], ['npm test', 'npm run lint']],
    ['test', ['npm test', 'npm run lint'], ['npm test', 'npm run lint']],
    ['test', ['~'], '~'],
    ['audit', ['{model: m, when: after_tests}'], { model: 'm', when: 'after_tests' }],
    ['audit', ['m'], 'm'],
    ['sandbox', ['{netwrk: true}'], { netwrk: true }],
    ['limits', ['{budget_calls: 9}'], { budget_calls: 9 }],
    ['model', ['a', 'b'], ['a', 'b']],
    ['context_files', ['a,b', 'c'], ['a', 'b', 'c']],
    ['output_dir', ['3'], '3'],
  ] as const)('%s of %j is %j', (key, texts, value) => {
    expect(keyValue(key, texts)).toEqual(value);
  });
});

describe('the job', () => {
  beforeEach(inRepo);

  test('may make files, unless a flag or emend.yaml says otherwise', async () => {
    const create = async (...line: string[]) =>
      (await jobOf(['-m', 'Add tea', ...line])).job.create;
    expect(await create()).toBe(true);
    expect(await create('--create=false')).toBe(false);
    expect(await create('--create', 'src/**', '--create', 'docs/**')).toEqual([
      'src/**',
      'docs/**',
    ]);
    expect(await create('--create', 'docs/**')).toEqual(['docs/**']);
    await writeFile(join(repo.dir, 'emend.yaml'), 'create: ["docs/**"]\n');
    expect(await create()).toBeNull();
  });

  test('has the keys that flags give, and paths of the workspace', async () => {
    const { job, jobPath, workspace } = await jobOf([
      ...[
        '-m',
        'Rename  it: a to b',
        'a.js',
        join(repo.dir, 'src', 'b.js'),
        '--test',
        'npm test',
        '--commit',
      ],
      ...[
        '--new-files',
        'new/c.js,d.js',
        '--context-files',
        '../src/b.js',
        '--repair',
        'false',
        '--final-newline',
      ],
    ]);
    expect(workspace).toBe(repo.dir);
    expect(jobPath).toBe('rename-it-a-to-b');
    expect(job).toMatchObject({
      title: 'Rename  it: a to b',
      instructions: 'Rename  it: a to b',
      targetFiles: ['src/a.js', 'src/b.js'],
      newFiles: ['src/new/c.js', 'src/d.js'],
      contextFiles: ['src/b.js'],
      test: ['npm test'],
      commit: true,
      repair: false,
      finalNewline: true,
      approval: null,
      mode: null,
    });
  });

  test('is read from stdin, in a directory that is no repository, by way of a link', async () => {
    const plain = await mkdtemp(join(dir, 'plain-'));
    await writeFile(join(plain, 'x.js'), 'x\n');
    await symlink(plain, join(dir, 'link'));
    await symlink('x.js', join(plain, 'y.js'));
    const { job, workspace } = await jobOf(
      ['-m', '-', join(dir, 'link', 'y.js')],
      plain,
      '# Say it\n\nNow.\n',
    );
    expect(workspace).toBe(plain);
    expect(job).toMatchObject({
      title: 'Say it',
      instructions: '# Say it\n\nNow.',
      targetFiles: ['y.js'],
    });
  });

  test('names output files below its output directory', async () => {
    const { job } = await jobOf([
      '-m',
      'Write',
      '--output-dir',
      'docs',
      '--output-files',
      'a.md,b/c.md',
    ]);
    expect(job.outputFiles).toEqual(['src/docs/a.md', 'src/docs/b/c.md']);
    expect((await jobOf(['-m', 'Write', '--output-file', 'e.md'])).job.outputFiles).toEqual([
      'src/e.md',
    ]);
  });

  test('is another one with other words or other keys, and the same in any order of flags', async () => {
    const of = async (...line: string[]) => (await jobOf(['-m', 'Do it', ...line])).text;
    const first = await of('--commit', '--test', 'x');
    expect(await of('--test', 'x', '--commit')).toBe(first);
    expect(await of('--test', 'x')).not.toBe(first);
    expect(await of('a.js', '--test', 'x', '--commit')).not.toBe(first);
  });
});

describe('on a repository', () => {
  beforeEach(inRepo);
  const HERE = ['-m', 'Do it', '--repository', 'https://example.org/p.git', '--base', 'main'];

  test('its files are relative to its top, nothing is looked for here, and its own emend.yaml says what may be made', async () => {
    const found = await jobOf([...HERE, 'lib/gone.js', '--test', 'npm test'], tmpdir());
    expect(found).toMatchObject({
      workspace: 'https://example.org/p.git',
      repository: { url: 'https://example.org/p.git', base: 'main' },
      job: { targetFiles: ['lib/gone.js'], create: null },
    });
    expect((await jobOf([...HERE, '--create'])).job.create).toBe(true);
    expect((await jobOf(HERE)).text).not.toBe((await jobOf([...HERE, '--base', 'next'])).text);
  });
});

describe('what is wrong names the flag and what to type', () => {
  beforeEach(inRepo);
  const WRONG: readonly (readonly [readonly string[], string, string])[] = [
    [
      ['-m', 'Do it', 'gone.js'],
      'FILES: expected an existing file, src/gone.js does not exist',
      '--new-files PATH',
    ],
    [['-m', 'Do it', '..'], 'FILES: expected a path that is not empty', 'emend help run'],
    [
      ['-m', 'Do it', '../../x'],
      'FILES: expected a path inside the workspace, received "../x"',
      'emend help run',
    ],
    [
      ['-m', 'Do it', '/etc/hosts'],
      'FILES: expected a path inside the workspace',
      'emend help run',
    ],
    [
      ['-m', 'Do it', '.'],
      'FILES: expected a file, src is a directory',
      'Name files, not directories',
    ],
    [
      ['-m', 'Do it', '--mode', 'edti'],
      '--mode: expected one of edit, standard, sequential',
      'emend help run',
    ],
    [
      ['-m', 'Do it', '--sandbox', '{netwrk: true}'],
      '--sandbox.netwrk: unknown key; did you mean `network`?',
      'docs',
    ],
    [
      ['-m', 'Do it', '--commit', 'a.js'],
      '--commit took the file a.js as its value',
      '--commit=true',
    ],
    [['-m', 'Do it', '--tset', 'x'], "unknown option '--tset'", '--test'],
    [
      ['-m', 'Do it', '--base', 'main'],
      'base: expected a repository with it',
      '--repository https://',
    ],
    [
      ['-m', 'Do it', '--repository', 'https://e.org/p'],
      'repository: expected base with it',
      '--base main',
    ],
    [
      ['-m', 'Do it', '--repository', '../p', '--base', 'x'],
      "--repository: expected a repository's URL",
      'emend help run',
    ],
    [
      ['-m', 'Do it', '--repository', 'file:///a b/p', '--base', 'x'],
      'expected a URL with %20 in place of',
      'help',
    ],
    [
      ['-m', 'Do it', '--repository', 'https://e.org/p', '--base', 'x', '--workspace', '.'],
      'received both',
      '',
    ],
    [
      ['-m', 'Do it', '--repository', 'https://e.org/p', '--base', 'x', '--commit', 'false'],
      'commit: expected',
      'Omit',
    ],
    [['-m', ' '], '-m: expected what to change, received nothing', 'emend run -m "what to change"'],
    [['-m', 'Do it', '--workspace', 'none'], 'is not a directory', '--workspace'],
    [
      ['-m', 'Do it', 'a.js', '--pick'],
      '--pick: no file is picked, as the job names src/a.js',
      'Omit --pick',
    ],
    [
      ['change the title of x'],
      'Job file change the title of x not found',
      "emend run -m 'change the title of x'",
    ],
    [["don't fix README.md"], 'not found', "-m is missing: emend run -m 'don'\\''t fix README.md'"],
    [
      ['change', 'the', 'title'],
      'Expected one job file, received 3 arguments',
      "emend run -m 'change the title'",
    ],
    [['a.md', 'b.md'], 'Expected one job file, received 2 arguments', 'one job at a time'],
    [[], 'Expected a job file or -m', 'emend run JOB.md'],
    [['gone.md'], 'Job file gone.md not found', 'Give the path of a Markdown job file'],
    [['job.md', '--commit'], '--commit goes with -m', 'Write `commit` into the front matter'],
    [
      ['job.md', '--require-complete-sentinel', 'false'],
      '--require-complete-sentinel goes with -m',
      'front matter',
    ],
  ];
  test.each(sampled('wrong sentences', WRONG, 8))('emend run %j: %s', async (line, what, next) => {
    await writeFile(join(repo.dir, 'src', 'job.md'), '# Do it\n');
    const env = {
      EMEND_HOME: join(dir, 'home'),
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      EMEND_CONNECT_MS: '300',
    };
    const io = fakeIo({ cwd: join(repo.dir, 'src'), env });
    expect(await main(['run', ...line], io)).toBe(2);
    expect(io.printed.err).toContain(what);
    expect(io.printed.err).toContain(next);
    expect(io.printed.err).not.toMatch(/:\d+: /);
    expect(await readdir(dir)).not.toContain('home');
  });

  test('emend.yaml keeps its line', async () => {
    await writeFile(join(repo.dir, 'emend.yaml'), '\nmode: x\n');
    const io = fakeIo({ cwd: repo.dir, env: {} });
    expect(await main(['run', '-m', 'Do it', '--mode', 'edti'], io)).toBe(2);
    expect(io.printed.err).toMatch(/--mode: expected[^]*emend\.yaml:2: mode: unknown key/);
  });
});

test('help has the flags, and no other command loads them', async () => {
  const io = fakeIo();
  expect(await main(['run', '--help'], io)).toBe(0);
  expect(io.printed.out).toContain('JOB.md | -m TEXT [FILES...]');
  expect(io.printed.out).toMatch(
    /With -m, the keys of a job[^]*--mode <value> +one of edit[^]*--commit \[value\]/,
  );
  const bash = fakeIo();
  expect(await main(['completion', 'bash'], bash)).toBe(0);
  expect(bash.printed.out).toContain('--context-files');
  const other = buildProgram(fakeIo(), () => undefined);
  expect(
    other.commands.find((each) => each.name() === 'run')?.options.map(({ long }) => long),
  ).not.toContain('--mode');
});
