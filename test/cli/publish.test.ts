/** `--draft-pr` with the real `gh`, up to a stand-in for GitHub: what is asked of it, and what the person is told where it says no. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { publish } from '../../src/cli/headless/approve.js';
import type { RepositoryBase } from '../../src/shared/repository.js';
import type { StepResult } from '../../src/shared/run.js';
import { findGh, has, startGithub, type Github } from '../support/github.js';
import { describeIf, testIf } from '../support/skipped.js';
import { fakeIo } from './io.js';

const BRANCH = 'emend/greet';
const found = await findGh();
const gh = testIf('path' in found, 'why' in found ? found.why : '');
const ghPath = 'path' in found ? found.path : '/nowhere/gh';

describeIf(has('openssl'), 'no openssl to make a certificate')('a draft pull request', () => {
  const dir = mkdtempSync(join(tmpdir(), 'emend-publish-'));
  const at = (...names: readonly string[]): string => join(dir, ...names);
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', at('repo'), ...args], { encoding: 'utf8' });
  let github: Github;
  /** What GitHub says of the pull request. */
  let answer: object = {};
  let existing: readonly object[] = [];

  beforeAll(async () => {
    const repository = {
      id: 'R1',
      name: 'greeter',
      owner: { login: 'ann' },
      viewerPermission: 'ADMIN',
    };
    github = await startGithub(dir, ({ query }) => {
      const known = {
        ...repository,
        defaultBranchRef: { name: 'main' },
        pullRequests: { nodes: existing },
      };
      if (query.includes('createPullRequest')) return answer;
      // Newer ones first ask which fields there are.
      return { data: query.includes('repository(') ? { repository: known } : {} };
    });
    execFileSync('git', ['init', '-q', '--bare', at('remote.git')]);
    execFileSync('git', ['init', '-q', '-b', 'main', at('repo')]);
    writeFileSync(at('repo', 'a.js'), 'let a = 1;\n');
    git('add', '-A');
    git('-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', 'commit', '-q', '-m', 'base');
    // A person's own pushes take along what a run is not asked to publish.
    git('-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', 'tag', '-a', 'v1', '-m', 'one');
    git('config', 'push.followTags', 'true');
    git('remote', 'add', 'origin', `${github.url}.git`);
    git('remote', 'set-url', '--push', 'origin', at('remote.git'));
  });
  afterAll(() => {
    github.close();
    rmSync(dir, { recursive: true });
  });

  const published = async (
    env: Record<string, string> = {},
    more: { repository?: RepositoryBase; cwd?: string; title?: string } = {},
  ): Promise<string> => {
    const io = fakeIo({ cwd: more.cwd ?? at('repo'), env: { ...github.env(ghPath), ...env } });
    const result = {
      commit: git('rev-parse', 'HEAD').trim(),
      verification: 'pass',
    } as unknown as StepResult;
    const { repository, title = 'Greet "politely"' } = more;
    const own = repository === undefined ? {} : { repository };
    const how = { branch: BRANCH, remote: 'origin', pullRequest: true, ...own };
    const workspace = repository?.url ?? at('repo');
    await publish(io, result, how, { workspace, title, run: 'abcd1234' });
    return io.printed.err;
  };

  gh('is asked for with the branch, the title and what made it; its address is told', async () => {
    const url = `${github.url}/pull/7`;
    answer = { data: { createPullRequest: { pullRequest: { id: 'P1', url } } } };
    expect(await published()).toMatch(
      new RegExp(`^pushed [0-9a-f]{12} to ${BRANCH} of origin\\n${url}\\n$`),
    );
    expect(github.asked.at(-1)?.variables.input).toMatchObject({
      baseRefName: 'main',
      headRefName: BRANCH,
      draft: true,
      title: 'Greet "politely"',
      body: 'Created by `emend run` (abcd1234), approved and tested: pass.',
    });
    expect(execFileSync('git', ['-C', at('remote.git'), 'tag'], { encoding: 'utf8' })).toBe('');
    const there = execFileSync('git', ['-C', at('remote.git'), 'rev-parse', BRANCH], {
      encoding: 'utf8',
    });
    expect(there).toBe(git('rev-parse', 'HEAD'));
  });

  gh(
    'of a run on a repository: of its URL, onto its base, from anywhere; nothing is pushed',
    async () => {
      const url = `${github.url}/pull/8`;
      answer = { data: { createPullRequest: { pullRequest: { id: 'P2', url } } } };
      const repository = { url: `${github.url}.git`, base: 'release' };
      // GitHub takes 256 characters of a title.
      expect(
        await published({}, { repository, cwd: dir, title: `${'long '.repeat(60)}\nand more` }),
      ).toBe(`${url}\n`);
      expect(github.asked.at(-1)?.variables.input).toMatchObject({
        baseRefName: 'release',
        headRefName: BRANCH,
        draft: true,
        title: `${'long '.repeat(51)}…`,
      });
    },
  );

  gh('that GitHub refuses: its words, and that the branch is pushed', async () => {
    const message = `Head sha can't be blank, no commits between main and ${BRANCH}`;
    answer = { data: { createPullRequest: null }, errors: [{ message }] };
    await expect(published()).rejects.toMatchObject({
      problem: {
        code: 'git_failed',
        message: expect.stringContaining(message),
        next: `The branch ${BRANCH} is pushed.`,
      },
    });
  });

  gh(
    'that is open already, as of a plan that goes on at its branch: it is told, and nothing has failed',
    async () => {
      const url = `${github.url}/pull/7`;
      existing = [
        {
          id: 'P1',
          number: 7,
          url,
          state: 'OPEN',
          baseRefName: 'main',
          headRefName: BRANCH,
          isDraft: true,
          isCrossRepository: false,
        },
      ];
      expect(
        await published({}, { repository: { url: `${github.url}.git`, base: 'main' }, cwd: dir }),
      ).toContain(url);
      existing = [];
      answer = {
        data: { createPullRequest: null },
        errors: [{ message: `A pull request already exists for ann:${BRANCH}.` }],
      };
      expect(await published()).toContain('already exists');
    },
  );

  gh('without a token: what gh says of it', async () => {
    await expect(published({ GH_ENTERPRISE_TOKEN: '' })).rejects.toMatchObject({
      problem: { message: expect.stringContaining('gh auth login') },
    });
  });

  test('with a pre-push hook, which may run what a model wrote: nothing is pushed, and the command to type is told', async () => {
    writeFileSync(at('repo', '.git', 'hooks', 'pre-push'), `#!/bin/sh\ntouch ${at('hooked')}\n`, {
      mode: 0o755,
    });
    execFileSync('git', ['-C', at('remote.git'), 'update-ref', '-d', `refs/heads/${BRANCH}`]);
    await expect(published()).rejects.toMatchObject({
      problem: {
        message:
          'There is a pre-push hook (.git/hooks/pre-push), which Emend does not run: nothing was pushed.',
        next: expect.stringMatching(
          /^Push it yourself: git push origin [0-9a-f]{12}:refs.heads.emend.greet$/,
        ),
      },
    });
    expect(execFileSync('git', ['-C', at('remote.git'), 'branch'], { encoding: 'utf8' })).toBe('');
    git('push', '-q', 'origin', `HEAD:refs/heads/${BRANCH}`);
    expect(existsSync(at('hooked'))).toBe(true);
    rmSync(at('repo', '.git', 'hooks', 'pre-push'));
  });

  test('without gh: that there is none, and that the branch is pushed', async () => {
    const only = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    const path = at('bin');
    execFileSync('sh', ['-c', `mkdir -p "${path}" && ln -sf "${only}" "${path}/git"`]);
    await expect(published({ PATH: path })).rejects.toMatchObject({
      problem: {
        message: 'Cannot open a pull request: gh is not on PATH.',
        next: expect.stringContaining('is pushed'),
      },
    });
  });
});
