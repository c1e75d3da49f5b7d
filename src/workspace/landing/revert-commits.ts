/**
 * Takes back the commits of a plan's phase with one new commit; no commit of anybody is rewritten. What it comes to is made of objects
 * (merge-tree.ts): each commit's opposite merged into HEAD. Then it lands as a merge does (merge.ts): all files or none, never over what
 * is not committed, the branch moved last. A ref of this working tree names it until then: an attempt that died is gone on with.
 */

import { git, valueOf, gitLine, repositoryOf } from '../git/git.js';
import { sha256 } from '../../system/hash.js';
import { commitSettings, makeCommit } from '../git/commit-hooks.js';
import {
  blobId,
  foldersOf,
  sameEntry,
  treeChanges,
  treeEntries,
  treeWith,
  type Entry,
} from '../git/entries.js';
import { mergeInto, type MergeParts } from './merge.js';
import { mergeTrees } from '../git/merge-tree.js';
import type { WorkspaceLock, AssertCurrent } from '../ports.js';
import type { MergeOutcome, MergeRequest, PlanCommit } from '../repository.js';

const PLAN_COMMITS = 10_000; // bound: Commits of a plan's phases and marks that are looked through for what an earlier run left,

export interface TakeBack extends Pick<MergeRequest, 'workspace' | 'message' | 'holder' | 'sign'> {
  /** Newest first; all in the branch. */
  readonly commits: readonly string[];
  /** Paths that stay as they are, though the commits changed them. */
  readonly isKept: (path: string) => boolean;
}
export type TakenBack =
  | { readonly outcome: 'taken_back'; readonly commit: string; readonly files: readonly string[] }
  /** A later commit changed a file of theirs. */
  | {
      readonly outcome: 'later';
      readonly commits: readonly { readonly commit: string; readonly subject: string }[];
    }
  | Exclude<MergeOutcome, { outcome: 'merged' | 'nothing' }>;

/** Names the work of taking back just these commits: a second attempt goes on with the first one's. */
const takeBackKey = (commits: readonly string[]): string =>
  sha256(`revert ${commits.join(' ')}`).slice(0, 32);
const refOf = (key: string): string => `refs/worktree/emend/take-back/${key}`;

/** `documents`: texts to write beside, by path from the top of the repository; asked for only where no attempt was begun before. */
export async function takeBack(
  parts: MergeParts,
  { workspace, commits, isKept, message, holder, sign }: TakeBack,
  documents: () => Promise<ReadonlyMap<string, string>>,
  assertCurrent: AssertCurrent,
): Promise<TakenBack> {
  const repository = await repositoryOf(workspace);
  const root = repository?.root ?? workspace;
  const stepKey = takeBackKey(commits);
  const begun = await gitLine(['rev-parse', '--quiet', '--verify', refOf(stepKey)], {
    cwd: root,
    reading: true,
  });
  const held: WorkspaceLock | null = await parts.engine.readLock(root);
  let theirs = begun.ok && held?.stepKey === stepKey ? begun.value : null;
  if (theirs === null) {
    const head = repository?.head ?? '';
    const later = await laterCommits(root, { commits, isKept }, head);
    if (later.length > 0) return { outcome: 'later', commits: later };
    const made = await treeWithout(root, head, { commits, isKept });
    if (typeof made !== 'string') return { ...made, ours: head };
    const texts = new Map<string, Entry>();
    for (const [path, text] of await documents()) {
      const mode = (await treeEntries(root, head, [path])).get(path)?.mode ?? '100644';
      texts.set(path, { mode, id: await blobId(root, new TextEncoder().encode(text), path, true) });
    }
    const tree = await treeBeside(root, made, [...texts.keys()], texts);
    theirs = await commitOf(root, tree, head, { message, dated: commits[0] ?? head });
    valueOf(await git(['update-ref', refOf(stepKey), theirs], { cwd: root }));
  }
  const request = { stepKey, workspace: root, theirs, message, holder, sign, plain: true };
  const merged = await mergeInto(parts, request, assertCurrent);
  if (merged.outcome === 'busy' || merged.outcome === 'failed') return merged;
  await git(['update-ref', '-d', refOf(stepKey)], { cwd: root });
  if (merged.outcome === 'nothing') return { outcome: 'taken_back', commit: theirs, files: [] };
  if (merged.outcome !== 'merged') return merged;
  return {
    outcome: 'taken_back',
    commit: merged.commit,
    files: await filesOf(root, merged.commit),
  };
}

const filesOf = async (root: string, commit: string): Promise<readonly string[]> =>
  (await treeChanges(root, null, commit)).paths;

/** Of others, since the oldest, on files that they changed: what stands on them is taken back first, by whoever made it. */
async function laterCommits(
  root: string,
  { commits, isKept }: Pick<TakeBack, 'commits' | 'isKept'>,
  head: string,
) {
  const seen = new Set<string>();
  const files: string[] = [];
  for (const commit of commits) {
    const paths = (await filesOf(root, commit)).filter((path) => !seen.has(path) && !isKept(path));
    const [then, now] = [
      await treeEntries(root, commit, paths),
      await treeEntries(root, head, paths),
    ];
    for (const path of paths) {
      seen.add(path);
      // Changed and put back since, it is as if nobody had touched it.
      if (!sameEntry(then.get(path), now.get(path))) files.push(path);
    }
  }
  if (files.length === 0) return [];
  const since = commits.at(-1) ?? head;
  const args = ['log', '-z', '--format=%H%x20%s', `${since}..${head}`, '--', ...files];
  const found = valueOf(await git(args, { cwd: root, reading: true })).text.split('\0');
  return found.flatMap((line) => {
    const [commit = '', ...words] = line.trim().split(' ');
    return commit === '' || commits.includes(commit) ? [] : [{ commit, subject: words.join(' ') }];
  });
}

/** HEAD's tree without what the commits did. */
async function treeWithout(
  root: string,
  head: string,
  { commits, isKept }: Pick<TakeBack, 'commits' | 'isKept'>,
): Promise<string | Extract<Awaited<ReturnType<typeof mergeTrees>>, { outcome: 'conflict' }>> {
  let [onto, tree] = [head, `${head}^{tree}`];
  for (const commit of commits) {
    const kept = (await filesOf(root, commit)).filter(isKept);
    const before = await treeBeside(
      root,
      `${commit}~1`,
      kept,
      await treeEntries(root, commit, kept),
    );
    const opposite = await commitOf(root, before, commit, { message: 'opposite', dated: commit });
    const merged = await mergeTrees(root, onto, opposite);
    if (merged.outcome === 'conflict') return merged;
    tree = merged.tree;
    onto = await commitOf(root, tree, onto, { message: 'so far', dated: commit });
  }
  return tree;
}

/** Dated as `dated`: the same request gives the same commit. */
async function commitOf(
  root: string,
  tree: string,
  parent: string,
  { message, dated }: { readonly message: string; readonly dated: string },
): Promise<string> {
  const at = valueOf(
    await gitLine(['log', '-1', '--format=%cI', dated, '--'], { cwd: root, reading: true }),
  );
  const settings = await commitSettings(root);
  // It lands on no branch: merge.ts makes the one that does.
  return valueOf(
    await makeCommit(root, { tree, parents: [parent], message, settings, date: at, sign: false }),
  );
}

const treeBeside = async (
  root: string,
  tree: string,
  paths: readonly string[],
  commit: ReadonlyMap<string, Entry>,
) => (await treeWith(root, await foldersOf(root, tree, paths), { paths, commit })).tree;

/** Commits of HEAD that runs made, newest first. */
export async function runCommits(
  workspace: string,
  limit: number,
): Promise<readonly Pick<PlanCommit, 'commit' | 'subject'>[]> {
  if ((await repositoryOf(workspace))?.head == null) return [];
  const format = '--format=%H%x1f%s%x1f%(trailers:key=Emend-Step,valueonly)';
  const args = ['log', '-z', `--max-count=${limit}`, '--grep=^Emend-Step: ', format, 'HEAD', '--'];
  const { text } = valueOf(await git(args, { cwd: workspace, reading: true }));
  return text.split('\0').flatMap((entry) => {
    const [commit = '', subject = '', trailers = ''] = entry.split('\x1f');
    return trailers.trim() === '' ? [] : [{ commit, subject }];
  });
}

// What the log of a branch says of a plan: the commits of its phases and of their marks, by their trailers.

const TRAILER = /^([0-9a-f]{32})-(p\d+)-(m?)\d+$/;
const REVERTS = /This reverts commit ([0-9a-f]{40,64})/g;

/** Newest first, at most `PLAN_COMMITS`; `planPath` as the messages of phases and marks name it. */
export async function planCommits(root: string, planPath: string): Promise<readonly PlanCommit[]> {
  const wanted = [
    '%H',
    '%(trailers:key=Emend-Step,key=Emend-Mark,valueonly,separator=%x2C)',
    '%s',
    '%b',
  ];
  const width = wanted.length;
  const format = `--format=${wanted.join('%x00')}`;
  const grep = [
    `--grep=Plan ${planPath}, phase `,
    `--grep= of ${planPath} as `,
    '--grep=This reverts commit ',
  ];
  const most = `--max-count=${PLAN_COMMITS}`;
  const args = ['log', '-z', most, '--fixed-strings', ...grep, format, 'HEAD', '--'];
  const fields = valueOf(await git(args, { cwd: root, reading: true })).text.split('\0');
  const found: PlanCommit[] = [];
  const reverted = new Set<string>();
  for (let at = 0; at + width <= fields.length; at += width) {
    const [commit = '', trailers = '', subject = '', body = ''] = fields.slice(at, at + width);
    for (const [, gone = ''] of body.matchAll(REVERTS)) reverted.add(gone);
    for (const each of trailers.split(',')) {
      const [, plan, phase, mark] = TRAILER.exec(each.trim()) ?? [];
      const kind = mark === 'm' ? 'mark' : 'phase';
      if (plan === undefined || phase === undefined) continue;
      found.push({ commit, plan, phase, kind, subject, body, reverted: reverted.has(commit) });
    }
  }
  return found;
}

/** What a model wrote stands in a commit with a trailer of ours, a replan's too. A part of what a person wrote is not theirs. */
export async function broughtByPerson(
  root: string,
  command: string,
  paths: readonly string[],
): Promise<boolean> {
  const words = command.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const pattern = `(\`|^[[:space:]]*([-*+]|[0-9]+[.)])[[:space:]])[[:space:]]*${words}[[:space:]]*(\`|$)`;
  // The oldest commit of a shallow clone seems to have brought everything.
  const isShallow = valueOf(
    await git(['rev-parse', '--is-shallow-repository'], { cwd: root, reading: true }),
  ).text;
  if (isShallow.trim() === 'true') return false;
  const format = '--format=%H%x00%(trailers:key=Emend-Step,valueonly)%x00';
  const args = [
    'log',
    '--reverse',
    format,
    '--pickaxe-regex',
    `-S${pattern}`,
    'HEAD',
    '--',
    ...paths,
  ];
  const [commit = '', trailer = ''] = valueOf(
    await git(args, { cwd: root, reading: true }),
  ).text.split('\0');
  return commit !== '' && trailer.trim() === '';
}
