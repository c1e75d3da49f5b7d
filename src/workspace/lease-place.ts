/** Where a workspace's lease lies, and what its git says at that moment. */
import { join } from 'node:path';
import { ProblemError } from '../shared/problems.js';
import { git, gitLine, valueOf } from './git.js';
import { sha256 } from './hash.js';
import { homePaths } from './home.js';

export interface LeasePlace {
  readonly dir: string;
  /** Lies in a git directory, so that two homes exclude each other. */
  readonly inGit: boolean;
}

/**
 * The directory of a workspace's lease: in its git directory (each worktree has its own), in the home where there is no git.
 * `root` is the workspace's real path. Throws ProblemError `git_failed` where git cannot say which.
 */
export const leasePlace = async (root: string, home: string): Promise<LeasePlace> => {
  const asked = await gitLine(['rev-parse', '--absolute-git-dir'], { cwd: root, reading: true });
  if (asked.ok) return { dir: join(asked.value, 'emend', 'lease'), inGit: true };
  if (!/not a git repository|spawn git ENOENT/.test(asked.problem.message)) throw new ProblemError(asked.problem);
  return { dir: join(homePaths(home).leases, sha256(root)), inGit: false };
};

/** HEAD's commit and branch; null where there is none (no commits yet, detached, outside git). */
export const headOf = async (
  root: string,
  place: LeasePlace,
): Promise<{ readonly head: string | null; readonly headRef: string | null }> => {
  if (!place.inGit) return { head: null, headRef: null };
  const line = async (...args: string[]): Promise<string | null> => {
    const answer = valueOf(await git(args, { cwd: root, reading: true, accept: [0, 1] }));
    return answer.code === 0 ? answer.text.trim() : null;
  };
  const [head, headRef] = await Promise.all([
    line('rev-parse', '--quiet', '--verify', 'HEAD^{commit}'),
    line('symbolic-ref', '--quiet', 'HEAD'),
  ]);
  return { head, headRef };
};
