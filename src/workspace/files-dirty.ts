/** What git says of files that a commit is to hold: their uncommitted changes, and whose repository they belong to. */
import { join } from 'node:path';
import { fieldsOf, git, prefixOf, repositoryOf, valueOf } from './git.js';
import { inChunks, treeEntries } from './git-entries.js';
import { orNull } from './sys-put.js';
import { realSys } from './sys.js';

export interface DirtyPath {
  /** Workspace-relative. */
  readonly path: string;
  /** `untracked` files are in no commit, so there is no committed version to change; `unmerged`: a merge waits for a person. */
  readonly state: 'changed' | 'staged' | 'untracked' | 'ignored' | 'unmerged';
}

/**
 * Which of `paths` differ from HEAD: `staged` where all of the difference is in the index, `changed` otherwise. Outside git: none.
 * Throws ProblemError `git_failed`.
 */
export async function dirtyPaths(root: string, paths: readonly string[]): Promise<DirtyPath[]> {
  const prefix = paths.length === 0 ? null : await prefixOf(root);
  if (prefix === null) return [];
  const args = ['status', '--porcelain=v2', '-z', '--no-renames', '--untracked-files=all', '--ignored=traditional'];
  const wanted = new Map(paths.map((path) => [prefix + path, path]));
  const dirty: DirtyPath[] = [];
  for (const chunk of inChunks(paths)) {
    for (const field of fieldsOf(valueOf(await git([...args, '--', ...chunk], { cwd: root, reading: true })))) {
      const entry = ENTRY.exec(field)?.groups;
      const path = wanted.get(entry?.path ?? '');
      if (entry !== undefined && path !== undefined) dirty.push({ path, state: stateOf(entry) });
    }
  }
  return dirty;
}

/** Porcelain v2: `1 XY <6 fields> path`, `u XY <8 fields> path`, `? path`, `! path`; paths from the repository's top. */
const ENTRY = /^(?:1 (?<xy>..) (?:\S+ ){6}|(?<unmerged>u) .. (?:\S+ ){8}|(?<other>[?!]) )(?<path>[^]*)$/;

function stateOf({ xy, unmerged, other }: Record<string, string | undefined>): DirtyPath['state'] {
  if (unmerged !== undefined) return 'unmerged';
  if (other !== undefined) return other === '?' ? 'untracked' : 'ignored';
  return xy?.endsWith('.') ? 'staged' : 'changed';
}

export interface ForeignPath {
  /** As given. */
  readonly path: string;
  /** Top of the working tree that it belongs to, workspace-relative. */
  readonly tree: string;
}

/**
 * Those of `paths` (workspace-relative, no link among their names) that lie in a submodule, checked out or not, or in another
 * repository below this one. Outside git: none. Throws ProblemError `git_failed`.
 */
export async function foreignPaths(root: string, paths: readonly string[]): Promise<ForeignPath[]> {
  const repository = paths.length === 0 ? null : await repositoryOf(root);
  if (repository === null) return [];
  const above = (path: string): string[] =>
    path.split('/').flatMap((_, at, names) => (at === 0 ? [] : [names.slice(0, at).join('/')]));
  const dirs = [...new Set(paths.flatMap(above))];
  const { prefix, head } = repository;
  const held = await treeEntries(
    repository.root,
    head,
    dirs.map((dir) => prefix + dir),
  );
  const tops = new Set<string>();
  for (const dir of dirs) {
    const own = await orNull(realSys.lstat(join(root, dir, '.git')), ['ENOENT', 'ENOTDIR']);
    if (own !== null || held.get(prefix + dir)?.mode === SUBMODULE) tops.add(dir);
  }
  return paths.flatMap((path) => {
    const tree = above(path).findLast((dir) => tops.has(dir));
    return tree === undefined ? [] : [{ path, tree }];
  });
}
const SUBMODULE = '160000';
