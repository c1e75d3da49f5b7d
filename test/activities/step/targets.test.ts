/** What preflight refuses of the files that a job names, on real repositories. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

import { chooseTargets } from '../../../src/activities/step/targets.js';
import { parseJob } from '../../../src/documents/job/job.js';
import { LIMITS, type Limits } from '../../../src/shared/limits.js';
import { ProblemError, type Problem } from '../../../src/shared/problems.js';
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
const choose = (frontMatter: string, commits = true, picked: readonly string[] | null = null) => {
  const job = parseJob(`---\n${frontMatter}\n---\n# Do it\n`, 'job.md');
  if (!job.ok) throw new Error(job.problems[0]?.message);
  const question = { workspace: repo.dir, job: job.value, jobPath: 'job.md', picked, limits, commits };
  return chooseTargets({ ...question, mustBeClean: commits, mustPick: false });
};
const refused = async (frontMatter: string, picked: readonly string[] | null = null): Promise<Problem> => {
  const said = await choose(frontMatter, true, picked).catch((error: unknown) => error);
  if (!(said instanceof ProblemError)) throw new Error(`not refused: ${JSON.stringify(said)}`);
  return said.problem;
};

describe('targets in a submodule', () => {
  beforeEach(async () => {
    const library = await Repo.make({ dir: await mkdtemp(join(dir, 'lib')) });
    await library.write('src/b.txt', 'b\n');
    await library.commitAll();
    await repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library.dir, 'vendor/lib');
    await repo.commitAll('a submodule');
  });

  test('are refused where a commit is asked for, with what to do; without one they are taken', async () => {
    const problem = await refused('target_files: [a.txt, vendor/lib/src/b.txt]');
    expect(problem.code).toBe('target_submodule');
    expect(problem.message).toBe(
      `job.md: commit is set, but these targets belong to another repository: vendor/lib/src/b.txt (of vendor/lib)`,
    );
    expect(problem.next).toContain(`--workspace '${repo.dir}/vendor/lib'`);
    expect(await choose('target_files: [vendor/lib/src/b.txt]', false)).toMatchObject({ outcome: 'targets' });
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
    expect((await refused('mode: standard\noutput_files: [vendor/lib/new.txt]')).code).toBe('target_submodule');
  });
});

test('a target of a repository that only lies inside, unknown to git, is refused too', async () => {
  const inner = await Repo.make({ dir: await mkdtemp(join(repo.dir, 'inner')) });
  await inner.write('c.txt', 'c\n');
  await inner.commitAll();
  expect(await refused(`target_files: [${basename(inner.dir)}/c.txt]`)).toMatchObject({ code: 'target_submodule' });
});
