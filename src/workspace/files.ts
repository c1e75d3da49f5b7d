/** Which files a workspace has, and which of them are ignored. */
import { fieldsOf, git, isWorkTree, valueOf } from './git.js';
import { ignoredByWalk, walk } from './files-walk.js';

export { dirtyPaths, foreignPaths } from './files-dirty.js';
export { eolForNewFile } from './files-eol.js';
export { NEW_FILE_MODE } from './new-file.js';
export { hintedPaths } from './files-hints.js';
export { looksSecret } from './files-secret.js';
export { inspectTarget } from './files-target.js';

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
  if (!(await isWorkTree(root))) {
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

/** Those of `paths` that .gitignore and the like exclude. A tracked file is never ignored. Throws ProblemError `git_failed`. */
export async function isIgnored(root: string, paths: readonly string[]): Promise<ReadonlySet<string>> {
  const ignored = new Set<string>();
  if (paths.length === 0) return ignored;
  if (!(await isWorkTree(root))) {
    for (const path of paths) if (await ignoredByWalk(root, path)) ignored.add(path);
    return ignored;
  }
  const ask = async (asked: readonly string[]): Promise<readonly string[] | null> => {
    // `./` keeps a leading `:` from meaning something; git answers with the words of the question.
    const input = asked.map((path) => `./${path}\0`).join('');
    const answer = await git(['check-ignore', '-z', '--stdin'], { ...CHECK_IGNORE, cwd: root, input });
    if (answer.ok) return fieldsOf(answer.value).map((path) => path.slice(2));
    return NO_RULES.test(answer.problem.message) ? null : fieldsOf(valueOf(answer));
  };
  const answers = await ask(paths);
  if (answers !== null) return new Set(answers);
  // One such path fails the whole question.
  for (const path of paths) for (const found of (await ask([path])) ?? []) ignored.add(found);
  return ignored;
}

/** Exit 1: none is ignored. */
const CHECK_IGNORE = { reading: true, accept: [0, 1], noLiteral: true } as const;
/** Paths that the repository's rules do not reach. */
const NO_RULES = /is beyond a symbolic link|is in submodule|is outside repository/;
