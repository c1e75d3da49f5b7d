/** The port `Repository` for a workspace that is a directory: git in that directory. */
import type { BlobStore } from '../../stores/ports.js';
import type { CommandRunner } from '../commands/index.js';
import { createCommitter } from '../git/commit.js';
import { git, repositoryOf, valueOf } from '../git/git.js';
import { createWorktreeKeeper } from '../git/worktrees.js';
import type { ApplyEngine } from '../ports.js';
import type { Repository } from '../repository.js';
import { mergeInto } from './merge.js';
import { broughtByPerson, holdsCommit, planCommits } from './revert-commits.js';

export interface RepositoryOptions {
  readonly home: string;
  readonly blobs: BlobStore;
  readonly engine: ApplyEngine;
  readonly commands: CommandRunner;
  /** How long commit hooks wait for their turn. */
  readonly turn_ms?: number;
}

export const createRepository = ({ home, blobs, engine, commands, turn_ms = 0 }: RepositoryOptions): Repository => ({
  head: repositoryOf,
  committed: async (workspace, path) => {
    const found = await git(['cat-file', 'blob', `HEAD:./${path}`], { cwd: workspace, reading: true });
    return found.ok ? found.value.text : null;
  },
  message: async (workspace, commit) =>
    valueOf(await git(['log', '-1', '--format=%B', commit, '--'], { cwd: workspace, reading: true })).text,
  isPersons: broughtByPerson,
  holds: holdsCommit,
  planCommits,
  commit: createCommitter({ blobs, commands, turn_ms }),
  merge: (request, assertCurrent) => mergeInto({ engine, blobs }, request, assertCurrent),
  worktrees: createWorktreeKeeper({ home, readLock: (workspace) => engine.readLock(workspace) }),
});
