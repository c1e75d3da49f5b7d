/** Uncommitted changes of files, as git sees them. */
import { fieldsOf, git, prefixOf, valueOf } from './git.js';
import { inChunks } from './git-entries.js';

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
