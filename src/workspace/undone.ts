/**
 * ◆ Commit and rollback of one application exclude each other, whichever attempt of either comes late. A rollback first makes the ref
 * `refs/worktree/emend/undone/<record>` (of this working tree only, naming a note and no commit); a commit moves the branch in one
 * ref transaction with the check that no such ref is there for any application that it is made of. Git takes both locks together.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ProblemError } from '../shared/problems.js';
import { git, gitLine, valueOf } from './git.js';
import { STORE_BOUNDS } from '../shared/bounds.js';

const UNDONE = 'refs/worktree/emend/undone/';
/** `name` as recordName makes it. */
const undoneRef = (name: string): string => `${UNDONE}${name}`;

/** Lines for `git update-ref --stdin`: none of these applications was rolled back. */
export const verifyNotUndone = (records: readonly string[], zero: string): string =>
  records.map((name) => `verify ${undoneRef(name)} ${zero}\n`).join('');

const isThere = async (root: string, name: string): Promise<boolean> =>
  (await gitLine(['rev-parse', '--quiet', '--verify', undoneRef(name)], { cwd: root, reading: true })).ok;

/** The first of these applications that was rolled back, if any. */
export async function undoneAmong(root: string, records: readonly string[]): Promise<string | null> {
  for (const name of records) if (await isThere(root, name)) return name;
  return null;
}

/** From here on no commit is made of this application; nothing to do where there is no repository. Throws ProblemError `git_failed` where git cannot write it down. */
export async function markUndone(root: string, name: string): Promise<void> {
  const inGit = await gitLine(['rev-parse', '--git-dir'], { cwd: root, reading: true });
  if (!inGit.ok) {
    if (/not a git repository|spawn git ENOENT/.test(inGit.problem.message)) return;
    throw new ProblemError(inGit.problem);
  }
  if (await isThere(root, name)) return;
  const note = `Emend put the files of ${name} back: a late commit of it must not be made.\n`;
  const blob = valueOf(await gitLine(['hash-object', '-w', '--stdin'], { cwd: root, input: note }));
  const deadline = performance.now() + STORE_BOUNDS.undoneWait_ms;
  for (;;) {
    const made = await git(['update-ref', undoneRef(name), blob], { cwd: root });
    if (made.ok) return;
    if (performance.now() >= deadline) throw new ProblemError(made.problem);
    await sleep(STORE_BOUNDS.undonePoll_ms);
  }
}

/** A working tree's notes of applications that were rolled back, for runs that have ended: nobody asks for them any more. */
export interface UndoneNotes {
  readonly workspace: string;
  /** Names of records. */
  readonly names: readonly string[];
}

/** Those of the steps; null where there are none, or where the workspace is gone or in no repository. */
export async function undoneNotes(workspace: string, steps: ReadonlySet<string>): Promise<UndoneNotes | null> {
  const listed = await gitLine(['for-each-ref', '--format=%(refname)', UNDONE], { cwd: workspace, reading: true });
  const all = listed.ok ? listed.value.split('\n').map((ref) => ref.slice(UNDONE.length)) : [];
  const names = all.filter((name) => steps.has(name.split('/')[0] ?? ''));
  return names.length === 0 ? null : { workspace, names };
}

/** How many went: all, or none where git cannot write. */
export async function dropUndone({ workspace, names }: UndoneNotes): Promise<number> {
  const input = names.map((name) => `delete ${undoneRef(name)}\n`).join('');
  return (await git(['update-ref', '--stdin'], { cwd: workspace, input })).ok ? names.length : 0;
}
