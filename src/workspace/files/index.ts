/** Which files a workspace has; ignored ones are none of them. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import { fieldsOf, git, NO_WORK_TREE, prefixOf, valueOf } from '../git/git.js';

const WALK_DEPTH = 64; // bound: Directories deeper than this are not walked.

// Listing outside git: a bounded walk that honours .gitignore files, nearest last.

/** Never walked: other tools' stores, and installed packages where no .gitignore says so. */
const SKIPPED = new Set(['.git', '.hg', '.svn', '.jj', 'node_modules']);

/** The rules of one .gitignore, for paths below `dir` ('' or ending in `/`). */
interface Rules {
  readonly dir: string;
  readonly ignore: Ignore;
}

async function walk(root: string, maxFiles: number): Promise<{ files: string[]; complete: boolean }> {
  const files: string[] = [];
  let complete = true;
  const visit = async (dir: string, above: readonly Rules[], depth: number): Promise<void> => {
    const rules = await withRulesOf(root, dir, above);
    const entries = await readdir(join(root, dir), { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = dir + entry.name;
      if (files.length >= maxFiles || depth > WALK_DEPTH) {
        complete = false;
        return;
      }
      if (SKIPPED.has(entry.name) || ignoredBy(rules, entry.isDirectory() ? `${path}/` : path)) continue;
      if (entry.isDirectory()) await visit(`${path}/`, rules, depth + 1);
      else if (entry.isFile() || (entry.isSymbolicLink() && (await leadsToFile(join(root, path))))) files.push(path);
    }
  };
  await visit('', [], 0);
  return { files, complete };
}

async function withRulesOf(root: string, dir: string, above: readonly Rules[]): Promise<readonly Rules[]> {
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

const leadsToFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => null))?.isFile() ?? false;

export { dirtyPaths, foreignPaths } from '../git/entries.js';
export { eolForNewFile } from './line-ends.js';
export { type TargetFacts, hintedPaths, inspectTarget, namesAround, NEW_FILE_MODE } from './targets.js';

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
  const listing = ['ls-files', '-z', '-t', '-s', '-o', '-d', '--exclude-standard'];
  const asked = await git(listing, { cwd: root, reading: true });
  if (!asked.ok && NO_WORK_TREE.test(asked.problem.message)) {
    const walked = await walk(root, maxFiles);
    return { files: walked.files.filter(isNameable).sort(), complete: walked.complete };
  }
  const [there, gone] = [new Set<string>(), new Set<string>()];
  // `? path` is untracked; of the others, as `H mode id stage<tab>path`, those with R are gone, and 160000 is a submodule.
  for (const entry of fieldsOf(valueOf(asked))) {
    if (entry.startsWith('? ')) there.add(entry.slice('? '.length));
    else if (!entry.slice('H '.length).startsWith('160000 '))
      (entry.startsWith('R ') ? gone : there).add(entry.slice(entry.indexOf('\t') + 1));
  }
  const files = [...there].filter((path) => !gone.has(path) && isNameable(path)).sort();
  return { files: files.slice(0, maxFiles), complete: files.length <= maxFiles };
}

/** What differs from HEAD, or is new and not ignored (a new directory as one, with `/` at its end); none outside git. */
export async function changedPaths(root: string, untracked: 'normal' | 'all' = 'normal'): Promise<readonly string[]> {
  const prefix = await prefixOf(root);
  if (prefix === null) return [];
  const args = ['status', '--porcelain', '-z', '--no-renames', `--untracked-files=${untracked}`, '--', '.'];
  const listed = fieldsOf(valueOf(await git(args, { cwd: root, reading: true, noLiteral: true })));
  return listed.map((field) => field.slice('XY '.length + prefix.length));
}

/** In git: does it track a file of this path, from `root` or from a folder below it? `path` holds no wildcard. */
export async function isTrackedBelow(root: string, path: string): Promise<boolean> {
  const args = ['ls-files', '-z', '--', `:(glob)**/${path}`];
  return valueOf(await git(args, { cwd: root, reading: true, noLiteral: true })).text !== '';
}

// Files that hold keys and passwords by their name: they enter no prompt unless a person names them.

const EXAMPLE = /(^|[._-])(example|sample|template|dist|defaults?)([._-]|$)/;
const NAMES = [
  /^\.env(rc)?$/,
  /^\.env\./,
  /\.env$/,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfstate|tfvars)$/,
  /^id_(rsa|dsa|ecdsa|ed25519)(_sk)?$/,
  /^\.(npmrc|pypirc|netrc|pgpass|htpasswd|git-credentials|vault-token)$/,
  /^_netrc$/,
  // As data, not as code: credentials.ts is a module, credentials.json is not.
  /^(client[_-])?(credentials?|secrets?)(\.(json|ya?ml|toml|ini|cfg|conf|xml|properties|txt|csv|enc|gpg))?$/,
  /^service[_-]?account.*\.json$/,
];
const FOLDERS = [/(^|\/)\.(ssh|gnupg|aws)\//, /(^|\/)\.(docker|kube)\/config(\.json)?$/];

/** Workspace-relative path, `/`-separated. `.env.example` and public keys (`*.pub`) are not secret. */
export function looksSecret(path: string): boolean {
  const lower = path.toLowerCase();
  const name = lower.slice(lower.lastIndexOf('/') + 1);
  if (name.endsWith('.pub') || EXAMPLE.test(name)) return false;
  return NAMES.some((pattern) => pattern.test(name)) || FOLDERS.some((pattern) => pattern.test(lower));
}
