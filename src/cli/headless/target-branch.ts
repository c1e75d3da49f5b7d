/** A run on a pull request reads its configuration from the target branch: the pull request itself may change it. */
import { fail } from '../../shared/problems.js';
import { isCommitId } from '../../shared/repository.js';
import type { Environment } from '../../system/environment.js';
import { gitLine } from '../../workspace/git/index.js';
import { pullRequestOf } from './pull-request.js';

/**
 * Returns the commit that configuration is read from; null: no pull request is worked on. `flag` names a commit or a branch.
 * Throws ProblemError `usage` if the commit is not in the clone around the directory, or the target branch is not known.
 */
export async function configurationCommit(
  env: Environment,
  cwd: string,
  flag: string | undefined,
): Promise<string | null> {
  if (flag !== undefined)
    return (
      (await namedCommit(cwd, flag)) ??
      fail('usage', `--config-from ${flag}: no such commit.`, 'Name a branch or a commit.')
    );
  const request = pullRequestOf(env);
  if (request === null) return null;
  if (request.branch === null)
    return fail(
      'usage',
      `This is a run on a pull request, and its target branch is not known: ${request.reason}.`,
      'Name the target branch, for example: --config-from origin/main',
    );
  const { branch } = request;
  return (
    (await commitOfRef(cwd, `refs/remotes/origin/${branch}`)) ??
    (await commitOfRef(cwd, `refs/heads/${branch}`)) ??
    fail(
      'usage',
      `This is a run on a pull request, and the target branch ${branch} is not in the clone.`,
      `Type: git fetch origin ${branch}, or set \`fetch-depth: 0\` at the checkout.`,
    )
  );
}

/** Returns the commit that `--config-from` names. A branch counts before a tag of the same name. */
async function namedCommit(cwd: string, name: string): Promise<string | null> {
  const branches = isCommitId(name) ? [] : [`refs/heads/${name}`, `refs/remotes/${name}`];
  for (const ref of branches) {
    const commit = await commitOfRef(cwd, ref);
    if (commit !== null) return commit;
  }
  const args = ['rev-parse', '--quiet', '--verify', '--end-of-options', `${name}^{commit}`];
  const found = await gitLine(args, { cwd, reading: true });
  return found.ok ? found.value : null;
}

/** Returns the commit of the ref with exactly this name. `git rev-parse` would also take a tag or a branch whose name ends in it. */
async function commitOfRef(cwd: string, ref: string): Promise<string | null> {
  const args = ['show-ref', '--verify', '--hash', '--', ref];
  const found = await gitLine(args, { cwd, reading: true });
  return found.ok ? found.value : null;
}
