/** Which files a workspace has; ignored ones are none of them. Which files a model may add. */
import { dirname, join } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { allowedBy, whyProtected, type ProjectConfig } from '../../documents/job/index.js';
import type { CheckedPath } from '../../edits/index.js';
import { lookUp } from '../../edits/internal.js';
import { foldedName } from '../../shared/text.js';
import { tokensIn } from '../../shared/tokens.js';
import { orNull } from '../../system/durable.js';
import { lstat, readdir, realpath, stat } from '../../system/fs.js';
import { foreignPaths } from '../git/entries.js';
import { looksSecret } from '../secret-files.js';
import { inspectTarget, isAbsent, namesAround } from './targets.js';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import { fieldsOf, git, gitDirectoryOf, NO_WORK_TREE, repositoryOf, valueOf } from '../git/git.js';

const WALK_DEPTH = 64; // bound: Directories deeper than this are not walked.

// Listing outside git: a bounded walk that honours .gitignore files, nearest last.

/** Never walked: other tools' stores, and installed packages where no .gitignore says so. */
const SKIPPED = new Set(['.git', '.hg', '.svn', '.jj', 'node_modules']);

/** The rules of one .gitignore, for paths below `dir` ('' or ending in `/`). */
interface Rules {
  readonly dir: string;
  readonly ignore: Ignore;
}

async function walk(root: string, maxFiles: number): Promise<string[]> {
  const files: string[] = [];
  const visit = async (dir: string, above: readonly Rules[], depth: number): Promise<void> => {
    const rules = await withRulesOf(root, dir, above);
    const entries = await readdir(join(root, dir), { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = dir + entry.name;
      if (files.length >= maxFiles || depth > WALK_DEPTH) return;
      if (SKIPPED.has(entry.name) || ignoredBy(rules, entry.isDirectory() ? `${path}/` : path))
        continue;
      if (entry.isDirectory()) await visit(`${path}/`, rules, depth + 1);
      else if (entry.isFile() || (entry.isSymbolicLink() && (await leadsToFile(join(root, path)))))
        files.push(path);
    }
  };
  await visit('', [], 0);
  return files;
}

async function withRulesOf(
  root: string,
  dir: string,
  above: readonly Rules[],
): Promise<readonly Rules[]> {
  const text = await readGivenText(join(root, dir, '.gitignore'), UNREADABLE);
  return text === null ? above : [...above, { dir, ignore: ignore().add(text) }];
}

/** The nearest file with a rule for the path decides. */
function ignoredBy(rules: readonly Rules[], path: string): boolean {
  for (const { dir, ignore: own } of [...rules].reverse()) {
    const verdict = own.test(path.slice(dir.length));
    if (verdict.ignored) return true;
    if (verdict.unignored) return false;
  }
  return false;
}

const leadsToFile = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => null))?.isFile() ?? false;

/** Why a file of this path would be none of those listed; null: it would be. */
async function whyIgnored(root: string, path: string): Promise<string | null> {
  const call = { cwd: root, reading: true, noLiteral: true, accept: [0, 1] };
  const asked = await git(['check-ignore', '-q', '--', `./${path}`], call);
  if (asked.ok) return asked.value.code === 0 ? 'git ignores it' : null;
  if (!NO_WORK_TREE.test(asked.problem.message)) return asked.problem.message;
  let [above, rules]: [string, readonly Rules[]] = ['', []];
  for (const part of path.match(/[^/]+\/?/g) ?? []) {
    rules = await withRulesOf(root, above, rules);
    above += part;
    if (SKIPPED.has(part.replace('/', '')) || ignoredBy(rules, above))
      return 'a .gitignore ignores it';
  }
  return null;
}

export { dirtyPaths, foreignPaths } from '../git/entries.js';
export { filterProblem } from '../git/path-programs.js';
export { pointerProblem, sparseProblem } from './elsewhere.js';
export { eolsForNewFiles } from './line-ends.js';
export {
  type TargetFacts,
  hintedPaths,
  inspectTarget,
  isAbsent,
  namesAround,
  NEW_FILE_MODE,
} from './targets.js';

/** Names that are not UTF-8 cannot be said in JSON or to a model. */
const isNameable = (path: string): boolean => !path.includes('\ufffd') && !path.endsWith('/');

/**
 * Files that exist: in git those tracked (also what a sparse checkout leaves out, so that nothing is made in its place) and those
 * untracked but not ignored (no submodules), elsewhere a walk that honours .gitignore; no more than `maxFiles`. Workspace-relative, `/`-separated, in order of their bytes. Throws ProblemError `git_failed`.
 */
export async function listWorkspaceFiles(
  root: string,
  maxFiles = 200_000,
): Promise<readonly string[]> {
  const listing = ['ls-files', '-z', '-t', '-s', '-o', '-d', '--exclude-standard'];
  const asked = await git(listing, { cwd: root, reading: true });
  if (!asked.ok && NO_WORK_TREE.test(asked.problem.message))
    return withoutGit(root, await walk(root, maxFiles));
  const [there, gone] = [new Set<string>(), new Set<string>()];
  // `? path` is untracked; of the others, as `H mode id stage<tab>path`, those with R are gone, and 160000 is a submodule.
  for (const entry of fieldsOf(valueOf(asked))) {
    if (entry.startsWith('? ')) there.add(entry.slice('? '.length));
    else if (!entry.slice('H '.length).startsWith('160000 '))
      (entry.startsWith('R ') ? gone : there).add(entry.slice(entry.indexOf('\t') + 1));
  }
  const files = await withoutGit(
    root,
    [...there].filter((path) => !gone.has(path)),
  );
  return files.slice(0, maxFiles);
}

/** Sorted, without what cannot be named and the files of git directories that lie among the others. */
const withoutGit = async (root: string, paths: readonly string[]): Promise<readonly string[]> => {
  let files = paths.filter(isNameable).sort();
  for (const dir of files.flatMap((path) => (/(^|\/)HEAD$/.test(path) ? dirname(path) : [])))
    if ((await gitDirectoryOf(join(root, dir))) !== null)
      files = files.filter((path) => !path.startsWith(`${dir}/`));
  return files;
};

/** What differs from HEAD, or is new and not ignored (a new directory as one, with `/` at its end); none outside git. */
export async function changedPaths(
  root: string,
  untracked: 'normal' | 'all' = 'normal',
): Promise<readonly string[]> {
  const prefix = (await repositoryOf(root))?.prefix;
  if (prefix === undefined) return [];
  const args = [
    'status',
    '--porcelain',
    '-z',
    '--no-renames',
    `--untracked-files=${untracked}`,
    '--',
    '.',
  ];
  const listed = fieldsOf(valueOf(await git(args, { cwd: root, reading: true, noLiteral: true })));
  return listed.map((field) => field.slice('XY '.length + prefix.length));
}

/** Returns those of the paths that git does not ignore; outside git, all of them. */
export async function withoutIgnored(
  root: string,
  paths: readonly string[],
): Promise<readonly string[]> {
  if (paths.length === 0) return paths;
  const input = paths.map((path) => `./${path}\0`).join('');
  const call = { cwd: root, reading: true, noLiteral: true, accept: [0, 1], input };
  const answer = await git(['check-ignore', '-z', '--stdin'], call);
  if (!answer.ok) return paths;
  const ignored = new Set(fieldsOf(answer.value).map((path) => path.slice('./'.length)));
  return paths.filter((path) => !ignored.has(path));
}

/** In git: does it track a file of this path, from `root` or from a folder below it? `path` holds no wildcard. */
export async function isTrackedBelow(root: string, path: string): Promise<boolean> {
  const args = ['ls-files', '-z', '--', `:(glob)**/${path}`];
  return valueOf(await git(args, { cwd: root, reading: true, noLiteral: true })).text !== '';
}

const SECRET_NAME = 'its name is that of a file with keys or passwords';

/**
 * Returns why an existing file enters no prompt unless a person names it; null: it may enter one. A link is judged by its own name and by
 * the name of its file.
 */
export const whyHidden = async (root: string, path: string): Promise<string | null> => {
  const found = await inspectTarget(root, path, null);
  const names = found.ok ? [...new Set([path, found.value.target])] : [path];
  if (names.some(looksSecret)) return SECRET_NAME;
  for (const name of names) {
    const reason = await whyIgnored(root, name);
    if (reason !== null) return reason;
  }
  return null;
};

type Allowed = Pick<ProjectConfig, 'create' | 'protected'>;
/**
 * New files that a model names or makes: hostile paths, checked here alone, whichever call they come from. By the name, and by the files
 * that are known to be there: the path in normal form, or why no model may make it.
 */
export const newFileCheck = (
  { create, protected: patterns }: Allowed,
  there: readonly string[],
) => {
  const known = new Set(there.map(foldedName));
  const protection = whyProtected(patterns);
  const isAllowed = create instanceof Array ? allowedBy(create) : () => create === true;
  return (named: string): CheckedPath => {
    const found = lookUp(named, {
      files: new Map(),
      options: { requireMarker: false, mayCreateUnder: [''] },
    });
    if (!found.ok) return { ok: false, why: found.reason.message };
    const why =
      (known.has(foldedName(found.path)) && 'a file of this name exists') ||
      (!isAllowed(found.path) && '`create` does not allow it') ||
      (looksSecret(found.path) && SECRET_NAME) ||
      (tokensIn(found.path).length > 0 && 'its name contains what looks like a secret') ||
      protection(found.path);
    return typeof why === 'string' ? { ok: false, why } : { ok: true, path: found.path };
  };
};

/** The same, and what is on the disk: of these paths those that no model may make, and why. */
export const newFilesRefused = async (root: string, paths: readonly string[], config: Allowed) => {
  const check = newFileCheck(config, []);
  const refused = new Map<string, string>();
  for (const path of paths) {
    const checked = check(path);
    const why = checked.ok ? await onDisk(root, path) : checked.why;
    if (why !== null) refused.set(path, why);
  }
  return refused;
};

async function onDisk(root: string, path: string): Promise<string | null> {
  const found = await inspectTarget(root, path, null);
  if (found.ok) return 'a file of this name exists';
  if (!isAbsent(found.problem)) return found.problem.message;
  const real = await realpath(root);
  for (let folder = dirname(join(real, path)); folder !== real; folder = dirname(folder))
    if ((await orNull(lstat(folder)))?.isSymbolicLink() === true)
      return 'its folder is a symbolic link';
  const [other] = await namesAround(root, [path]);
  if (other !== undefined) return `${other} exists, which differs in letter case alone`;
  if ((await foreignPaths(root, [path])).length > 0) return 'it belongs to another repository';
  return whyIgnored(root, path);
}
