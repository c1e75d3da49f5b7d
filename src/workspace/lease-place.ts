/** Where a workspace's lease lies, and what its git says at that moment. */
import { join } from 'node:path';
import { execa } from 'execa';
import { fail } from '../shared/problems.js';
import { sha256 } from './hash.js';
import { homePaths } from './home.js';
import type { Sys } from './sys.js';

export interface LeasePlace {
  readonly dir: string;
  /** Lies in a git directory, so that two homes exclude each other. */
  readonly inGit: boolean;
}

/** Git's own variables (set inside hooks and aliases) would point it at another repository than the workspace's. */
const gitEnvironment = (): NodeJS.ProcessEnv => {
  const kept = Object.entries(process.env).filter(([name]) => !/^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|PREFIX)$/.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0' };
};

const git = (workspace: string, ...args: string[]) =>
  execa('git', args, { cwd: workspace, env: gitEnvironment(), extendEnv: false, reject: false, stdin: 'ignore' });

/**
 * The directory of a workspace's lease: in its git directory (each worktree has its own), outside git in the home.
 * `root` is the workspace's real path. Throws ProblemError `git_failed` where git cannot say which.
 */
export const leasePlace = async (root: string, home: string, sys: Sys): Promise<LeasePlace> => {
  const asked = await git(root, 'rev-parse', '--absolute-git-dir');
  if (asked.exitCode === 0) return { dir: join(asked.stdout.trim(), 'emend', 'lease'), inGit: true };
  const noGit = asked.code === 'ENOENT';
  if (!noGit && !asked.stderr.includes('not a git repository'))
    return fail('git_failed', `git cannot tell the git directory of ${root}: ${asked.stderr.trim() || asked.shortMessage || ''}`);
  // ENOENT is also what a missing directory gives; the caller is told which.
  if (noGit) await sys.realpath(root);
  return { dir: join(homePaths(home).leases, sha256(root)), inGit: false };
};

/** HEAD's commit and branch; null where there is none (no commits yet, detached, outside git). */
export const headOf = async (root: string, place: LeasePlace): Promise<{ head: string | null; headRef: string | null }> => {
  if (!place.inGit) return { head: null, headRef: null };
  const head = await git(root, 'rev-parse', '--verify', '--quiet', 'HEAD^{commit}');
  const ref = await git(root, 'symbolic-ref', '--quiet', 'HEAD');
  return {
    head: head.exitCode === 0 ? head.stdout.trim() : null,
    headRef: ref.exitCode === 0 ? ref.stdout.trim() : null,
  };
};
