/** The git directory that all worktrees of a repository share. */
import { join, resolve } from 'node:path';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';

/** Returns the directory that `commondir` in the git directory of a linked worktree names, else the git directory itself. */
export async function sharedGitDirectory(gitDir: string): Promise<string> {
  const shared = await readGivenText(join(gitDir, 'commondir'), UNREADABLE);
  return resolve(gitDir, shared?.trim() ?? '');
}
