/** Listing and ignoring outside git: a bounded walk that honours .gitignore files, nearest last. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { STORE_BOUNDS } from '../shared/bounds.js';
import { readGivenText, UNREADABLE } from './given-file.js';

/** Never walked: other tools' stores, and installed packages where no .gitignore says so. */
const SKIPPED = new Set(['.git', '.hg', '.svn', '.jj', 'node_modules']);

/** The rules of one .gitignore, for paths below `dir` ('' or ending in `/`). */
interface Rules {
  readonly dir: string;
  readonly ignore: Ignore;
}

export async function walk(root: string, maxFiles: number): Promise<{ files: string[]; complete: boolean }> {
  const files: string[] = [];
  let complete = true;
  const visit = async (dir: string, above: readonly Rules[], depth: number): Promise<void> => {
    const rules = await withRulesOf(root, dir, above);
    const entries = await readdir(join(root, dir), { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = dir + entry.name;
      if (files.length >= maxFiles || depth > STORE_BOUNDS.walkDepth) {
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

/** As git: a path below an ignored directory is ignored whatever later rules say. */
export async function ignoredByWalk(root: string, path: string): Promise<boolean> {
  let rules: readonly Rules[] = [];
  const segments = path.split('/');
  for (let i = 0; i < segments.length; i += 1) {
    const dir = segments
      .slice(0, i)
      .map((segment) => `${segment}/`)
      .join('');
    rules = await withRulesOf(root, dir, rules);
    const here = dir + (segments[i] ?? '');
    if (ignoredBy(rules, i < segments.length - 1 ? `${here}/` : here)) return true;
  }
  return false;
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
