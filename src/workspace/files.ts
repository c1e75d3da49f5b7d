/** Which files a workspace has, and which of them are ignored. */
import { fieldsOf, git, gitLine, valueOf } from './git.js';
import { ignoredByWalk, walk } from './files-walk.js';

export { dirtyPaths } from './files-dirty.js';
export type { DirtyPath } from './files-dirty.js';
export { eolForNewFile } from './files-eol.js';
export { hintedPaths } from './files-hints.js';
export { looksSecret } from './files-secret.js';
export { inspectTarget } from './files-target.js';
export type { TargetFacts } from './files-target.js';

export interface WorkspaceFiles {
  /** Workspace-relative, `/`-separated, in order of their bytes. */
  readonly files: readonly string[];
  /** False: there are more than `maxFiles`. */
  readonly complete: boolean;
}

/** Names that are not UTF-8 cannot be said in JSON or to a model. */
const isNameable = (path: string): boolean => !path.includes('\ufffd') && !path.endsWith('/');

/**
 * Files that exist: in git those tracked and those untracked but not ignored (no submodules), elsewhere a walk that honours
 * .gitignore. Throws ProblemError `git_failed`.
 */
export async function listWorkspaceFiles(root: string, maxFiles = 200_000): Promise<WorkspaceFiles> {
  if (!(await isRepository(root))) {
    const walked = await walk(root, maxFiles);
    return { files: walked.files.filter(isNameable).sort(), complete: walked.complete };
  }
  const list = async (...args: string[]): Promise<string[]> =>
    fieldsOf(valueOf(await git(['ls-files', '-z', ...args], { cwd: root, reading: true })));
  const [staged, untracked, deleted] = await Promise.all([list('-s'), list('-o', '--exclude-standard'), list('-d')]);
  const gone = new Set(deleted);
  const tracked = staged
    .filter((entry) => !entry.startsWith('160000 '))
    .map((entry) => entry.slice(entry.indexOf('\t') + 1));
  const files = [...new Set([...tracked, ...untracked])].filter((path) => !gone.has(path) && isNameable(path)).sort();
  return { files: files.slice(0, maxFiles), complete: files.length <= maxFiles };
}

/** Those of `paths` that .gitignore and the like exclude. A tracked file is never ignored. */
export async function isIgnored(root: string, paths: readonly string[]): Promise<ReadonlySet<string>> {
  const ignored = new Set<string>();
  if (paths.length === 0) return ignored;
  if (!(await isRepository(root))) {
    for (const path of paths) if (await ignoredByWalk(root, path)) ignored.add(path);
    return ignored;
  }
  const ask = async (asked: readonly string[]): Promise<readonly string[] | null> => {
    const call = { cwd: root, reading: true, accept: [0, 1], input: asked.map((path) => `${path}\0`).join('') };
    const answer = await git(['check-ignore', '-z', '--stdin'], call);
    return answer.ok ? fieldsOf(answer.value) : null;
  };
  const answers = await ask(paths);
  if (answers !== null) return new Set(answers);
  // One path behind a symbolic link or in a submodule fails the whole question; git has no rule for such a path.
  for (const path of paths) for (const found of (await ask([path])) ?? []) ignored.add(found);
  return ignored;
}

/** Throws ProblemError where git cannot tell (another owner's repository, no git). */
async function isRepository(root: string): Promise<boolean> {
  const inside = await gitLine(['rev-parse', '--is-inside-work-tree'], { cwd: root, reading: true });
  if (inside.ok) return inside.value === 'true';
  if (inside.problem.message.includes('not a git repository')) return false;
  valueOf(inside);
  return false;
}
