/**
 * Decides whether the repository that a `.git` file (or link) leads to is that of the working tree which has the file. Otherwise a commit
 * would be made in another repository (docs/decisions/0039).
 */
import { lstatSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fail } from '../../shared/problems.js';
import { shellWord } from '../../shared/text.js';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import { realOrSame } from '../../system/paths.js';
import type { GitSettings } from './read-settings.js';

const isSame = (a: string, b: string): boolean => realOrSame(a) === realOrSame(b);

/** Returns the working tree that a git directory names as its own; null: it names none. */
async function claimedBy(gitDir: string, { settings }: GitSettings): Promise<string | null> {
  const back = await readGivenText(join(gitDir, 'gitdir'), UNREADABLE);
  if (back !== null) return dirname(resolve(gitDir, back.trim()));
  const worktree = settings.findLast(({ key }) => key === 'core.worktree')?.value ?? '';
  if (worktree !== '') return resolve(gitDir, worktree);
  return basename(gitDir) === '.git' ? dirname(gitDir) : null;
}

/** Throws ProblemError `git_failed` if the working tree's `.git` leads to the repository of another one. */
export async function failIfForeign(
  root: string,
  gitDir: string,
  settings: () => Promise<GitSettings>,
): Promise<void> {
  const entry = join(root, '.git');
  let isDirectory: boolean;
  try {
    isDirectory = lstatSync(entry).isDirectory();
  } catch {
    // `core.worktree` leads here from elsewhere.
    return;
  }
  if (isDirectory) return;
  const real = realOrSame(gitDir);
  const owner = await claimedBy(real, await settings());
  if (owner === null || isSame(owner, root)) return;
  fail(
    'git_failed',
    `${entry} leads to ${real}, the git directory of ${owner}. A commit would be made there.`,
    `If you moved the working tree, type: git -C ${shellWord(root)} worktree repair (a submodule: git -C ${shellWord(root)} config core.worktree ${shellWord(root)}). Else remove ${entry}.`,
  );
}
