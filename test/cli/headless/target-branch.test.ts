/** Which commit a run on a pull request reads its configuration from: the variables of every CI system, and the names of branches. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readPolicy } from '../../../src/cli/headless/approve.js';
import { pullRequestOf } from '../../../src/cli/headless/pull-request.js';
import { configurationCommit } from '../../../src/cli/headless/target-branch.js';
import { main } from '../../../src/cli/main.js';
import { jobAtCommit, readJobFile } from '../../../src/workspace/documents/index.js';
import { fakeIo } from '../io.js';

describe('62: the target branch of a pull request, by the variables of a CI system', () => {
  test.each<[string, Record<string, string>]>([
    ['GitHub Actions', { GITHUB_EVENT_NAME: 'pull_request', GITHUB_BASE_REF: 'main' }],
    ['GitHub', { GITHUB_EVENT_NAME: 'pull_request_target', GITHUB_BASE_REF: 'main' }],
    [
      'Forgejo',
      { FORGEJO_ACTIONS: 'true', GITHUB_EVENT_NAME: 'pull_request', GITHUB_BASE_REF: 'main' },
    ],
    ['GitLab CI', { CI_MERGE_REQUEST_IID: '1', CI_MERGE_REQUEST_TARGET_BRANCH_NAME: 'main' }],
    [
      'GitLab CI for GitHub',
      { CI_EXTERNAL_PULL_REQUEST_IID: '1', CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME: 'main' },
    ],
    ['Bitbucket Pipelines', { BITBUCKET_PR_ID: '7', BITBUCKET_PR_DESTINATION_BRANCH: 'main' }],
    [
      'Azure Pipelines',
      { BUILD_REASON: 'PullRequest', SYSTEM_PULLREQUEST_TARGETBRANCH: 'refs/heads/main' },
    ],
    ['Jenkins', { CHANGE_ID: '7', CHANGE_TARGET: 'main' }],
    ['Buildkite', { BUILDKITE_PULL_REQUEST: '7', BUILDKITE_PULL_REQUEST_BASE_BRANCH: 'main' }],
    ['Travis CI', { TRAVIS_PULL_REQUEST: '7', TRAVIS_BRANCH: 'main' }],
    ['Drone', { DRONE_BUILD_EVENT: 'pull_request', DRONE_TARGET_BRANCH: 'main' }],
    ['Woodpecker', { CI_PIPELINE_EVENT: 'pull_request', CI_COMMIT_TARGET_BRANCH: 'main' }],
    ['AppVeyor', { APPVEYOR_PULL_REQUEST_NUMBER: '7', APPVEYOR_REPO_BRANCH: 'main' }],
  ])('%s', (_, env) => {
    expect(pullRequestOf({ CI: 'true', ...env })).toEqual({ branch: 'main' });
  });

  test.each<[string, Record<string, string>]>([
    ['no CI', {}],
    ['a CI system that is not known', { CI: 'true' }],
    ['a push, GitHub Actions', { GITHUB_EVENT_NAME: 'push', GITHUB_BASE_REF: '' }],
    ['a push, Buildkite', { BUILDKITE_PULL_REQUEST: 'false' }],
    ['a push, Travis CI', { TRAVIS_PULL_REQUEST: 'false', TRAVIS_BRANCH: 'main' }],
    ['a push, Drone', { DRONE_BUILD_EVENT: 'push', DRONE_TARGET_BRANCH: 'main' }],
    ['a push, Woodpecker', { CI_PIPELINE_EVENT: 'push', CI_COMMIT_TARGET_BRANCH: '' }],
    ['a push, AppVeyor', { APPVEYOR_REPO_BRANCH: 'main' }],
    ['a push, Azure Pipelines', { BUILD_REASON: 'IndividualCI' }],
    ['a push, CircleCI', { CIRCLECI: 'true', CIRCLE_BRANCH: 'main' }],
  ])('none: %s', (_, env) => {
    expect(pullRequestOf(env)).toBeNull();
  });
});

describe('the commit', () => {
  let dir: string;
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
      cwd: dir,
      encoding: 'utf8',
    }).trim();
  const commit = (text: string): string => {
    writeFileSync(join(dir, 'review.yaml'), text);
    git('add', '-A');
    git('commit', '-qm', 'change');
    return git('rev-parse', 'HEAD');
  };
  const POLICY = 'v: 1\npaths: [docs/**]\n';
  const JOB = '---\nrepository: https://example.org/a.git\nbase: main\n---\n# Job\n\nDo it.\n';
  let target: string;
  let change: string;
  beforeEach(() => {
    dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend-target-')));
    git('init', '-q', '-b', 'main');
    writeFileSync(join(dir, 'job.md'), JOB);
    target = commit(POLICY);
    git('checkout', '-qb', 'change');
    change = commit('v: 1\npaths: ["**"]\n');
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));
  const ON_PULL_REQUEST = { GITHUB_EVENT_NAME: 'pull_request', GITHUB_BASE_REF: 'main' };
  const commitFor = (env: Record<string, string>, flag?: string) =>
    configurationCommit(env, dir, flag);

  test.each<[string, Record<string, string>, string]>([
    [
      'CircleCI',
      { CIRCLE_PULL_REQUEST: 'https://github.com/a/b/pull/7' },
      'CircleCI has no variable with the target branch',
    ],
    [
      'an event of GitHub Actions without the branch',
      { GITHUB_EVENT_NAME: 'pull_request_review', GITHUB_BASE_REF: '' },
      'GITHUB_BASE_REF of GitHub Actions is empty',
    ],
  ])('62: a target branch that is not known asks for --config-from: %s', async (_, env, reason) => {
    await expect(commitFor(env)).rejects.toMatchObject({
      problem: {
        code: 'usage',
        message: `This is a run on a pull request, and its target branch is not known: ${reason}.`,
        next: 'Name the target branch, for example: --config-from origin/main',
      },
    });
    expect(await commitFor(env, 'main')).toBe(target);
  });

  test('61: a tag with the name of the target branch is not read instead of the branch', async () => {
    git('tag', 'main', change);
    git('tag', 'refs/heads/main', change);
    expect(await commitFor(ON_PULL_REQUEST)).toBe(target);
    expect(await commitFor({}, 'main')).toBe(target);
  });

  test('61: a tag or a branch whose name ends in that of a missing target branch is not read', async () => {
    for (const name of ['refs/remotes/origin/gone', 'refs/heads/gone', 'gone']) {
      git('tag', name, change);
      git('update-ref', `refs/heads/${name}/x`, change);
    }
    await expect(commitFor({ ...ON_PULL_REQUEST, GITHUB_BASE_REF: 'gone' })).rejects.toMatchObject({
      problem: { message: expect.stringContaining('the target branch gone is not in the clone') },
    });
  });

  test('a branch of the remote counts before a local one', async () => {
    git('update-ref', 'refs/remotes/origin/main', target);
    git('update-ref', 'refs/heads/main', change);
    expect(await commitFor(ON_PULL_REQUEST)).toBe(target);
    expect(await commitFor({}, 'origin/main')).toBe(target);
  });

  test('a policy of the repository is read from it', async () => {
    const { policy } = await readPolicy('review.yaml', dir, { directory: dir, commit: target });
    expect(policy.paths).toEqual(['docs/**']);
  });

  test('a job on a repository is followed only as the target branch has it', async () => {
    const read = () => readJobFile({ jobPath: 'job.md', cwd: dir, workspace: null });
    expect((await jobAtCommit(await read(), target)).repository?.url).toBe(
      'https://example.org/a.git',
    );
    writeFileSync(join(dir, 'job.md'), JOB.replace('/a.git', '/evil.git'));
    await expect(jobAtCommit(await read(), target)).rejects.toMatchObject({
      problem: { code: 'config_untrusted' },
    });
  });

  test('a plan that names its own repository is refused', async () => {
    const plan = '# Plan\n\n### Phase 1: One\n\n- [ ] Change `a.js`\n';
    writeFileSync(
      join(dir, 'plan.md'),
      `---\nrepository: https://example.org/a.git\nbase: main\n---\n${plan}`,
    );
    const io = fakeIo({ env: { ...process.env, ...ON_PULL_REQUEST, EMEND_HOME: dir }, cwd: dir });
    expect(await main(['plan', 'run', 'plan.md'], io)).toBe(2);
    expect(io.printed.err).toContain(
      'plan.md names a repository. In a run on a pull request only the command names one.',
    );
    expect(io.printed.err).toContain('Add --repository URL --base BRANCH.');
  });

  test('a job above the workspace is read from the target branch', async () => {
    mkdirSync(join(dir, 'sub'));
    writeFileSync(join(dir, 'job.md'), '---\nsandbox: off\n---\n# Job\n\nDo it.\n');
    git('commit', '-qam', 'job');
    const trusted = git('rev-parse', 'HEAD');
    writeFileSync(join(dir, 'job.md'), '---\nsandbox: { network: true }\n---\n# Job\n\nDo evil.\n');
    const read = await readJobFile({ jobPath: 'job.md', cwd: dir, workspace: 'sub' });
    expect(read.jobPath).toBe(join(dir, 'job.md'));
    expect(await jobAtCommit(read, trusted)).toMatchObject({ job: { sandbox: 'off' } });
  });
});
