/** Where a workspace's lease lies, and what its git says at that moment. */
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { ProblemError } from '../shared/problems.js';
import { gitLine, headOf, type Head } from './git.js';
import { sha256 } from './hash.js';
import { homePaths } from './home.js';
import { STORE_BOUNDS } from '../shared/bounds.js';

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
  const own = join(root, '.git');
  if (ownGit.has(root) && (await lstat(own).catch(() => null))?.isDirectory() === true) return inGitDir(own);
  const asked = await gitLine(['rev-parse', '--absolute-git-dir'], { cwd: root, reading: true });
  if (asked.ok) {
    if (asked.value === own) remember(root);
    return inGitDir(asked.value);
  }
  if (!/not a git repository|spawn git ENOENT/.test(asked.problem.message)) throw new ProblemError(asked.problem);
  return { dir: join(homePaths(home).leases, sha256(root)), inGit: false };
};

const inGitDir = (dir: string): LeasePlace => ({ dir: join(dir, 'emend', 'lease'), inGit: true });

/**
 * Workspaces of which git has said that their git directory is the `.git` in them. Git finds that one before any other, so while it is
 * a directory nothing need be asked again. Elsewhere (below a repository's top, in a linked worktree) the answer may change.
 */
const ownGit = new Set<string>();
const remember = (root: string): void => {
  if (ownGit.size >= STORE_BOUNDS.rememberedPlaces) ownGit.clear();
  ownGit.add(root);
};

/** HEAD's commit and branch; null where there is none (no commits yet, detached, outside git). */
export const headAt = (root: string, place: LeasePlace): Promise<Head> =>
  place.inGit ? headOf(root) : Promise.resolve({ head: null, headRef: null });
