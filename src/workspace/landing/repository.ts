/** The port `Repository` for a workspace that is a directory: git in that directory. */
import { type CommitterSettings, createCommitter } from '../git/commit.js';
import { hasHooks } from '../git/commit-hooks.js';
import { git, repositoryOf, valueOf } from '../git/git.js';
import { createWorktreeKeeper } from '../git/worktrees.js';
import { realSys } from '../../system/sys.js';
import type { ApplyEngine } from '../ports.js';
import type { Repository } from '../repository.js';
import { holdsCommit, mergeInto } from './merge.js';
import { broughtByPerson, planCommits, runCommits } from './revert-commits.js';

export interface RepositoryOptions extends Pick<
  CommitterSettings,
  'blobs' | 'commands' | 'layers' | 'sys'
> {
  readonly home: string;
  readonly engine: ApplyEngine;
}

const REMEMBERED_TEXTS = 20; // bound: Files of commits (`emend.yaml`, what defines tests) that this process keeps: what a commit holds never changes.
const texts = new Map<string, string | null>();

export const createRepository = ({
  home,
  blobs,
  engine,
  commands,
  layers,
  sys = realSys,
}: RepositoryOptions): Repository => ({
  head: repositoryOf,
  hasHooks,
  committed: async (workspace, path) => {
    const { head } = (await repositoryOf(workspace).catch(() => null)) ?? { head: null };
    const name = `${head ?? ''} ${workspace} ${path}`;
    if (head === null || texts.has(name)) return texts.get(name) ?? null;
    const found = await git(['cat-file', 'blob', `${head}:./${path}`], {
      cwd: workspace,
      reading: true,
    });
    const text = found.ok ? found.value.text : null;
    if (texts.size >= REMEMBERED_TEXTS) texts.clear();
    if (found.ok || /does not exist|exists on disk/.test(found.problem.message))
      texts.set(name, text);
    return text;
  },
  message: async (workspace, commit) =>
    valueOf(
      await git(['log', '-1', '--format=%B', commit, '--'], { cwd: workspace, reading: true }),
    ).text,
  isPersons: broughtByPerson,
  holds: holdsCommit,
  planCommits,
  runCommits,
  commit: createCommitter({ blobs, commands, layers, sys }),
  merge: (request, assertCurrent) => mergeInto({ engine, blobs, sys }, request, assertCurrent),
  worktrees: createWorktreeKeeper({ home, readLock: (workspace) => engine.readLock(workspace) }),
});
