/**
 * Merging two commits without a working tree (`git merge-tree --write-tree`): objects only, no ref and no file is touched. The same two
 * commits give the same tree.
 */
import { fail } from '../../shared/problems.js';
import { isAtLeast } from '../../system/version.js';
import { git, gitLine, valueOf } from './git.js';
import type { ConflictFile } from '../ports.js';

const MERGE_MESSAGE_CHARS = 300; // bound: What git says of a merge.

/** `files`: those on which the two commits cannot be brought together, with git's words: `CONFLICT (content): Merge conflict in a.ts`. */
export type TreeMerge =
  | { readonly outcome: 'clean'; readonly tree: string }
  | { readonly outcome: 'conflict'; readonly files: readonly ConflictFile[] };

/** The first version with `--write-tree`. */
const NEEDED = '2.38';

/** Throws ProblemError `git_too_old` where git cannot merge without a working tree. `version`: what `git version` prints. */
export function checkMergeable(version: string): void {
  const found = /\d+\.\d+/.exec(version)?.[0] ?? '';
  if (!isAtLeast(found, NEEDED))
    fail(
      'git_too_old',
      `Parallel phases need git ${NEEDED} or later to be merged; this is ${version.trim()}.`,
    );
}

/** `ours` and `theirs` are commits. Throws ProblemError `git_failed` (no common ancestor, say) or `git_too_old`. */
export async function mergeTrees(root: string, ours: string, theirs: string): Promise<TreeMerge> {
  const call = { cwd: root };
  checkMergeable(valueOf(await gitLine(['version'], call)));
  const merged = valueOf(
    await git(['merge-tree', '--write-tree', '-z', '--messages', ours, theirs], {
      ...call,
      accept: [0, 1],
    }),
  );
  const [tree, ...rest] = merged.text.split('\0');
  if (merged.code === 0) return { outcome: 'clean', tree: tree ?? '' };
  return { outcome: 'conflict', files: conflictsOf(rest) };
}

/** Fields of a `-z` output behind the tree: `<mode> <id> <stage>\t<path>`…, an empty one, then messages. */
function conflictsOf(fields: readonly string[]): readonly ConflictFile[] {
  const end = fields.indexOf('');
  const staged = fields
    .slice(0, end)
    .flatMap((field) => /^\d+ [0-9a-f]+ \d\t([^]*)$/.exec(field)?.[1] ?? []);
  const words = messagesOf(fields.slice(end + 1));
  const paths = [...new Set([...staged, ...words.keys()])].sort();
  return paths.map((path) => ({ path, why: words.get(path) ?? 'both sides changed it' }));
}

/** `<count>`, so many paths, a short type, the message. Those that only tell of an automatic merge are no conflict. */
function messagesOf(fields: readonly string[]): ReadonlyMap<string, string> {
  const words = new Map<string, string>();
  for (let at = 0; at < fields.length;) {
    const count = Number(fields[at]);
    if (!Number.isSafeInteger(count) || count < 0 || fields[at] === '') break;
    const message = (fields[at + count + 2] ?? '').trim();
    if (message.startsWith('CONFLICT'))
      for (const path of fields.slice(at + 1, at + 1 + count))
        words.set(path, message.slice(0, MERGE_MESSAGE_CHARS));
    at += count + 3;
  }
  return words;
}
