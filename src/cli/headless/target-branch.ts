/** A run on a pull request reads its configuration from the target branch: the pull request itself may change it. */
import { fail } from '../../shared/problems.js';
import type { RepositoryBase } from '../../shared/repository.js';
import type { Environment } from '../../system/environment.js';
import { gitLine } from '../../workspace/git/index.js';

interface Place {
  readonly workspace: string;
  readonly repository?: RepositoryBase | undefined;
}

/**
 * Returns the commit that configuration is read from; null: no pull request is worked on. `flag` names a commit or a branch.
 * Throws ProblemError `usage` if the commit is not in the clone.
 */
export async function configurationCommit(
  env: Environment,
  { workspace: cwd, repository }: Place,
  flag: string | undefined,
): Promise<string | null> {
  // A run on a repository works in a checkout of its base branch.
  if (repository !== undefined) return null;
  const branch = targetBranch(env);
  if (flag === undefined && branch === null) return null;
  // A tag of the same name would win over the branch.
  const names =
    flag === undefined
      ? [`refs/remotes/origin/${branch ?? ''}`, `refs/heads/${branch ?? ''}`]
      : [flag];
  for (const name of names) {
    const args = ['rev-parse', '--quiet', '--verify', '--end-of-options', `${name}^{commit}`];
    const found = await gitLine(args, { cwd, reading: true });
    if (found.ok) return found.value;
  }
  return flag === undefined
    ? fail(
        'usage',
        `This is a run on a pull request, and the target branch ${branch ?? ''} is not in the clone.`,
        `Type: git fetch origin ${branch ?? ''}, or set \`fetch-depth: 0\` at the checkout.`,
      )
    : fail('usage', `--config-from ${flag}: no such commit.`, 'Name a branch or a commit.');
}

/** Returns the branch that the pull request of this CI job would be merged into; null: it has none. */
function targetBranch(env: Environment): string | null {
  const isPullRequest = env.GITHUB_EVENT_NAME?.startsWith('pull_request') === true;
  const names = [
    isPullRequest ? env.GITHUB_BASE_REF : undefined,
    env.CI_MERGE_REQUEST_TARGET_BRANCH_NAME,
  ];
  return names.find((name) => name !== undefined && name !== '') ?? null;
}
