/** What preflight refuses of the files that a job names, on real repositories. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

import { findCandidates } from '../../../src/activities/step/find.js';
import { snapshotTarget, textRefs } from '../../../src/activities/step/snapshot.js';
import { chooseTargets, judge } from '../../../src/activities/step/targets.js';
import { applyAnswer, describeFile, type ApplyAnswerInput } from '../../../src/edits/index.js';
import { FORMATS, type Format } from '../../../src/shared/formats.js';
import { parseJob } from '../../../src/documents/job/job.js';
import { LIMITS, type Limits } from '../../../src/shared/limits.js';
import { ProblemError, type Problem } from '../../../src/shared/problems.js';
import { listWorkspaceFiles } from '../../../src/workspace/files/index.js';
import { isolateGit, Repo } from '../../workspace/git-fixture.js';

isolateGit();

let dir: string;
let repo: Repo;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'emend targets-')));
  repo = await Repo.make({ dir: await mkdtemp(join(dir, 'work')) });
  await repo.write('a.txt', 'a\n');
  await repo.commitAll();
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const limits = Object.fromEntries(
  Object.entries(LIMITS).map(([name, spec]) => [name, spec.default]),
) as unknown as Limits;
const choose = (
  frontMatter: string,
  commits = true,
  picked: readonly string[] | null = null,
  made: readonly string[] = [],
) => {
  const job = parseJob(`---\n${frontMatter}\n---\n# Do it\n`, 'job.md');
  if (!job.ok) throw new Error(job.problems[0]?.message);
  const question = {
    workspace: repo.dir,
    job: job.value,
    jobPath: 'job.md',
    picked,
    limits,
    commits,
    made,
    mayCreate: false,
  };
  return chooseTargets({ ...question, mustBeClean: commits, mustPick: false, showsTokens: false });
};
const refused = async (
  frontMatter: string,
  picked: readonly string[] | null = null,
): Promise<Problem> => {
  const said = await choose(frontMatter, true, picked).catch((error: unknown) => error);
  if (!(said instanceof ProblemError)) throw new Error(`not refused: ${JSON.stringify(said)}`);
  return said.problem;
};

describe('targets in a submodule', () => {
  beforeEach(async () => {
    const library = await Repo.make({ dir: await mkdtemp(join(dir, 'lib')) });
    await library.write('src/b.txt', 'b\n');
    await library.commitAll();
    await repo.git(
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'add',
      library.dir,
      'vendor/lib',
    );
    await repo.commitAll('a submodule');
  });

  test('are refused where a commit is asked for, with what to do; without one they are taken', async () => {
    const problem = await refused('target_files: [a.txt, vendor/lib/src/b.txt]');
    expect(problem.code).toBe('target_submodule');
    expect(problem.message).toBe(
      `job.md: commit is set, but these targets belong to another repository: vendor/lib/src/b.txt (of vendor/lib)`,
    );
    expect(problem.next).toContain(`--workspace '${repo.dir}/vendor/lib'`);
    expect(await choose('target_files: [vendor/lib/src/b.txt]', false)).toMatchObject({
      outcome: 'targets',
    });
    expect(await choose('target_files: [a.txt]')).toMatchObject({ outcome: 'targets' });
  });

  test('are found behind a link, as new files, as files that go, and where a model picked them', async () => {
    await repo.link('b.txt', 'vendor/lib/src/b.txt');
    await repo.commitAll('a link');
    for (const named of [
      'target_files: [b.txt]',
      'mode: standard\noutput_files: [vendor/lib/new/deep.txt]',
      'delete_files: [vendor/lib/src/b.txt]',
    ])
      expect((await refused(named)).code).toBe('target_submodule');
    expect((await refused('', ['vendor/lib/src/b.txt'])).code).toBe('target_submodule');
  });

  test('are found where the submodule is not checked out', async () => {
    await repo.git('submodule', '--quiet', 'deinit', '--force', 'vendor/lib');
    expect((await refused('mode: standard\noutput_files: [vendor/lib/new.txt]')).code).toBe(
      'target_submodule',
    );
  });
});

test('a target of a repository that only lies inside, unknown to git, is refused too', async () => {
  const inner = await Repo.make({ dir: await mkdtemp(join(repo.dir, 'inner')) });
  await inner.write('c.txt', 'c\n');
  await inner.commitAll();
  expect(await refused(`target_files: [${basename(inner.dir)}/c.txt]`)).toMatchObject({
    code: 'target_submodule',
  });
});

describe('an answer that makes a file which was not offered', () => {
  const nonce = '0123456789abcdef0123';
  const OLD = 'one\n';
  const blobs = { get: () => Promise.resolve(new TextEncoder().encode('src/a.js\nsrc/there.js')) };
  const edits = {
    run: (_: string, input: ApplyAnswerInput) => Promise.resolve(applyAnswer(input)),
  };
  const judged = (format: Format, answer: string, create: unknown = true) => {
    const snapshot = {
      config: { create, protected: [] },
      names: 'sha256:x',
      targets: [{ path: 'src/a.js' }],
      limits,
    };
    const files = new Map([['src/a.js', { bytes: new TextEncoder().encode(OLD) }]]);
    const input: ApplyAnswerInput = {
      format,
      answer,
      files,
      options: { nonce, requireMarker: true },
    };
    return judge({ blobs, edits } as never, snapshot as never, input, new AbortController().signal);
  };
  const end = (files: number, edited: number) => `EMEND-COMPLETE ${nonce} ${files} ${edited}\n`;
  const whole = (...paths: string[]) =>
    paths.map((path) => `FILE ${path} ${nonce}\ntwo\nEND FILE ${nonce}\n`).join('') +
    end(paths.length, paths.length);
  const edit = `FILE: src/a.js\nFIND:\none\nREPLACE:\ntwo\nEND ${nonce}\n`;
  const ANSWERS: Readonly<Record<Format, string>> = {
    'whole-file': whole('src/a.js', 'src/new.js'),
    'search-replace': `${edit}FILE: src/new.js\nFIND:\nREPLACE:\ntwo\nEND ${nonce}\n${end(2, 2)}`,
    'unified-diff': `--- a/src/a.js\n+++ b/src/a.js\n@@ -1 +1 @@\n-one\n+two\n--- /dev/null\n+++ b/src/new.js\n@@ -0,0 +1 @@\n+two\n${end(2, 2)}`,
    'structured-edit': JSON.stringify({
      summary: 'x',
      operations: [
        { type: 'append', file_path: 'src/a.js', content: 'two\n' },
        { type: 'append', file_path: 'src/new.js', content: 'two\n' },
      ],
      complete: true,
      nonce,
    }),
  };

  test.each(FORMATS)(
    '%s: it is taken where `create` allows it, else refused as ever',
    async (format) => {
      const outcome = await judged(format, ANSWERS[format]);
      if (outcome.outcome !== 'edited') throw new Error(JSON.stringify(outcome));
      expect([...outcome.files.keys()].sort()).toEqual(['src/a.js', 'src/new.js']);
      expect(
        new TextDecoder().decode((outcome.files.get('src/new.js') as { bytes: Uint8Array }).bytes),
      ).toBe('two\n');
      for (const create of [false, null, ['docs/**']])
        expect(await judged(format, ANSWERS[format], create)).toMatchObject({
          outcome: 'refused',
          reasons: [{ code: 'unknown_file', path: 'src/new.js' }],
        });
    },
  );

  test.each([
    ['a file that is there', whole('src/a.js', 'src/there.js'), 'file_not_offered'],
    [
      'one whose name differs in letter case alone',
      whole('src/a.js', 'src/There.js'),
      'unknown_file',
    ],
    ['a path that leaves the workspace', whole('src/a.js', '../x.js'), 'bad_path'],
    ['the offered file under another path', whole('lib/a.js'), 'unknown_file'],
    [
      'more than may be picked',
      whole(...Array.from({ length: 11 }, (_, i) => `src/n${i}.js`)),
      'unknown_file',
    ],
  ])('%s is refused', async (_, answer, code) => {
    expect(await judged('whole-file', answer)).toMatchObject({
      outcome: 'refused',
      reasons: expect.arrayContaining([expect.objectContaining({ code })]),
    });
  });

  test('a file is moved by it to where `create` allows a new file, and to no other place', async () => {
    const move = `diff --git a/src/a.js b/src/b.js\nsimilarity index 100%\nrename from src/a.js\nrename to src/b.js\n${end(1, 0)}`;
    const onto = move.replaceAll('src/b.js', 'src/there.js');
    expect(await judged('unified-diff', move)).toMatchObject({
      outcome: 'edited',
      renames: [{ from: 'src/a.js', to: 'src/b.js' }],
    });
    for (const create of [false, null, ['docs/**']])
      expect(await judged('unified-diff', move, create)).toMatchObject({
        outcome: 'refused',
        reasons: [{ code: 'unknown_file', path: 'src/b.js' }],
      });
    expect(await judged('unified-diff', onto)).toMatchObject({
      outcome: 'refused',
      reasons: [{ code: 'file_not_offered', path: 'src/there.js' }],
    });
  });
});

test('a sparse checkout: what git tracks outside it is no new file, and no model picks it', async () => {
  await repo.write('lib/inner.txt', 'giraffe\n');
  await repo.write('giraffe.txt', 'giraffe\n');
  await repo.commitAll();
  await repo.git('sparse-checkout', 'set', '--no-cone', '/lib/');
  const files = await listWorkspaceFiles(repo.dir);
  const eols = () => Promise.resolve(new Map<string, '\n'>());
  const given = {
    workspace: repo.dir,
    limits,
    deletes: false,
    siblings: () => Promise.resolve(files),
    eols,
  };
  const taken = (path: string) =>
    snapshotTarget({ ...given, path } as unknown as Parameters<typeof snapshotTarget>[0]);
  await expect(taken('giraffe.txt')).rejects.toMatchObject({
    problem: {
      code: 'target_missing',
      message: expect.stringContaining(
        'giraffe.txt is tracked by git but outside the sparse checkout',
      ),
    },
  });
  expect(await taken('new.txt')).toMatchObject({ base: null });
  const asked = { root: repo.dir, files, task: 'The giraffe' };
  const found = await findCandidates(
    {} as Parameters<typeof findCandidates>[0],
    asked,
    new AbortController().signal,
  );
  expect(found.map(({ path }) => path)).toEqual(['lib/inner.txt']);
});

test('a pointer of Git LFS is not what its file holds: refused, with how to fetch it; it may be deleted', async () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'4d7a2146'.repeat(8)}\nsize 12345\n`;
  await repo.write('big.csv', pointer);
  await repo.write('about.txt', `A pointer:\n${pointer}`);
  const ports = {
    edits: {
      run: (_: string, { bytes }: { bytes: Uint8Array }) => Promise.resolve(describeFile(bytes)),
    },
    blobs: { put: () => Promise.resolve('sha256:0') },
  };
  const given = {
    ports,
    workspace: repo.dir,
    limits,
    config: { encodings: [] },
    signal: new AbortController().signal,
  };
  const taken = (path: string, deletes = false) =>
    snapshotTarget({ ...given, path, deletes } as unknown as Parameters<typeof snapshotTarget>[0]);
  const refusal = {
    problem: { code: 'target_binary', message: expect.stringMatching(/^big\.csv.*Git LFS/) },
  };
  await expect(taken('big.csv')).rejects.toMatchObject(refusal);
  await expect(taken('big.csv')).rejects.toMatchObject({
    problem: { next: expect.stringContaining('git lfs pull') },
  });
  expect(await taken('big.csv', true)).toMatchObject({ deletes: true });
  expect(await taken('about.txt')).toMatchObject({ lines: 4 });
  const shown = { ...given, paths: ['big.csv'], jobPath: 'job.md' } as unknown as Parameters<
    typeof textRefs
  >[0];
  await expect(textRefs(shown)).rejects.toMatchObject(refusal);
});
