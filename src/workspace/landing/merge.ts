/**
 * Brings a phase's branch into the plan's own branch and working tree. The merge itself is made of objects (merge-tree.ts). What it
 * changes is then applied as a proposal, all files or none and never over a person's save, and the branch moved, expecting the commit
 * that was merged into. The lock says that commit and the time: a retry makes the same commit, and finds it where it is made.
 */
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, problem, problemOn, type Problem } from '../../shared/problems.js';
import { stateOfHolder } from '../git/commit-branch.js';
import { commitSettings, makeCommit, withTrailer } from '../git/commit-hooks.js';
import { recoverIndexLock } from '../git/index-lock.js';
import { landCommit } from '../git/land-commit.js';
import { git, gitLine, repositoryOf, valueOf, type GitRepository } from '../git/git.js';
import { treeChanges, type Entry, type TreeChanges } from '../git/entries.js';
import {
  proposalIdOf,
  recordName,
  toApply,
  type Proposal,
  type ProposalFile,
} from '../proposal.js';
import { mergeTrees } from '../git/merge-tree.js';
import { orNull } from '../../system/durable.js';
import { realSys, type Sys } from '../../system/sys.js';
import type { ApplyEngine, ApplyRequest, WorkspaceLock, AssertCurrent } from '../ports.js';
import type { MergeOutcome, MergeRequest } from '../repository.js';
import type { BlobStore } from '../../stores/ports.js';

export interface MergeParts {
  readonly engine: ApplyEngine;
  readonly blobs: BlobStore;
  /** How long locks that another git process holds are waited for. Default 10,000. */
  readonly lockWait_ms?: number;
  readonly sys?: Sys;
}

/** Expected failures are outcomes; `failed` with `busy` where `assertCurrent` threw, as this attempt was given up: to be tried again. */
export async function mergeInto(
  parts: MergeParts,
  request: MergeRequest,
  assertCurrent: AssertCurrent,
): Promise<MergeOutcome> {
  const { engine } = parts;
  try {
    const repository = await repositoryOf(request.workspace);
    if (repository?.head == null)
      return fail('not_a_repository', `${request.workspace} has no commit to merge into`);
    const held = await engine.acquireLock(
      repository.root,
      request.stepKey,
      request.holder,
      assertCurrent,
    );
    if (held.outcome === 'busy') return held;
    const outcome = await mergeLocked({
      parts,
      request,
      repository,
      lock: held.lock,
      assertCurrent,
    });
    assertCurrent();
    await engine.releaseLock(repository.root, request.stepKey, held.lock.token);
    return outcome;
  } catch (error) {
    return { outcome: 'failed', problem: problemOn()(error) };
  }
}

interface Work {
  readonly parts: MergeParts;
  readonly request: MergeRequest;
  readonly repository: GitRepository;
  readonly lock: WorkspaceLock;
  readonly assertCurrent: AssertCurrent;
}

async function mergeLocked(work: Work): Promise<MergeOutcome> {
  const { request, repository, lock } = work;
  const { root } = repository;
  await recoverIndexLock(work.parts.sys ?? realSys, repository);
  // The lock of an attempt that died began where the branch was then.
  const ours = lock.head ?? '';
  const standing = await stateOfHolder(repository, lock);
  if (standing.kind === 'parent' && (await holdsCommit(root, request.theirs, ours)))
    return landedBefore(work, ours);
  const baseProblem = await problemOfBase(work, ours);
  if (baseProblem !== null) return { outcome: 'failed', problem: baseProblem };
  const merged = await mergeTrees(root, ours, request.theirs);
  if (merged.outcome === 'conflict') return { outcome: 'conflict', ours, files: merged.files };
  const changes = await treeChanges(root, ours, merged.tree);
  const proposal = await proposalOf(work, changes);
  if ('outcome' in proposal) return proposal;
  if (standing.kind === 'committed') return mergedAs(standing.commit, ours, null);
  if (standing.kind === 'elsewhere')
    return unmade(work, proposal, { outcome: 'moved', why: standing.why });

  const applied = await work.parts.engine.apply(applyOf(work, proposal), work.assertCurrent);
  switch (applied.outcome) {
    case 'busy':
      return applied;
    case 'failed':
      return { outcome: 'failed', problem: applied.problem };
    case 'base_changed':
      return { outcome: 'dirty', files: applied.conflicts };
    case 'conflict':
      return unmade(work, proposal, { outcome: 'dirty', files: applied.conflicts });
    case 'applied':
      return commitMerge(work, { ours, tree: merged.tree, changes, proposal });
  }
}

/** Returns why the phase cannot be merged here: into another branch, the merge would also bring all that the phase began on. */
async function problemOfBase(
  { request, repository: { root } }: Work,
  ours: string,
): Promise<Problem | null> {
  if (request.base === undefined || (await holdsCommit(root, request.base, ours))) return null;
  const base = request.base.slice(0, 12);
  const message = `it began on ${base}, which the branch that is checked out does not hold. Check out the one that does (git branch --contains ${base}) or, where this one was rewritten since and is to stay so, type: git merge -s ours ${base}. Then retry`;
  return problem('conflict', message);
}

/** A merge of ours that was done and whose lock had ended looks as if there was nothing to do; its trailer tells. */
async function landedBefore(
  { request, repository: { root } }: Work,
  tip: string,
): Promise<MergeOutcome> {
  const ofStep = ['--fixed-strings', `--grep=Emend-Step: ${request.stepKey}`];
  const args = ['rev-list', '--parents', '--merges', ...ofStep, tip, '--'];
  const [newest = ''] = valueOf(await gitLine(args, { cwd: root, reading: true })).split('\n');
  const [commit, parent, second] = newest.split(' ');
  if (commit === undefined || parent === undefined || second !== request.theirs)
    return { outcome: 'nothing' };
  return { outcome: 'merged', commit, parent };
}

/** Does the branch, or another commit, hold the commit? */
export async function holdsCommit(
  cwd: string,
  commit: string,
  tip = 'HEAD',
  env = {},
): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', commit, tip];
  // 128: there is no such commit in the repository any more.
  return valueOf(await git(args, { cwd, env, reading: true, accept: [0, 1, 128] })).code === 0;
}

const MODES: Readonly<Record<string, number>> = {
  '100644': 0o644,
  '100755': 0o755,
  '120000': 0o120777,
};

/** What a checkout of the merge would change, as files with both sides. */
async function proposalOf(
  { parts, request, repository }: Work,
  changes: TreeChanges,
): Promise<Proposal | Extract<MergeOutcome, { outcome: 'failed' }>> {
  const { root } = repository;
  const side = async (
    path: string,
    entry: Entry | undefined,
    mode: number,
  ): Promise<ProposalFile['base']> => {
    if (entry === undefined) return null;
    const how =
      entry.mode === LINK ? ['blob', entry.id] : ['--filters', `--path=${path}`, entry.id];
    const { bytes } = valueOf(await git(['cat-file', ...how], { cwd: root, reading: true }));
    return { ref: await parts.blobs.put(bytes), mode };
  };
  const files: ProposalFile[] = [];
  for (const path of changes.paths) {
    const [was, is] = [changes.parent.get(path), changes.commit.get(path)];
    if ([was, is].some((entry) => entry !== undefined && MODES[entry.mode] === undefined)) {
      const why = `${path} is a submodule, which parallel phases cannot change; run the plan with --sequential`;
      return { outcome: 'failed', problem: problem('git_failed', why) };
    }
    const mode = await modeAt(join(root, path), [was, is]);
    files.push({
      path,
      base: await side(path, was, mode(was)),
      result: await side(path, is, mode(is)),
      by: 'model',
    });
  }
  return { stepKey: request.stepKey, files, renames: [] };
}

const LINK = '120000';

/**
 * The mode of a file for an entry of git, which knows the executable bit only: the rest stays as on disk (umask), before the merge and
 * after it. A bit that is as neither side has it is a person's change, and stands against the merge.
 */
async function modeAt(
  path: string,
  sides: readonly (Entry | undefined)[],
): Promise<(entry?: Entry) => number> {
  const found = await orNull(lstat(path), ['ENOENT', 'ENOTDIR']);
  const known =
    found?.isFile() === true &&
    sides.some((side) => side?.mode === ((found.mode & 0o100) === 0 ? '100644' : '100755'));
  const bits = known ? found.mode & 0o777 : null;
  return (entry) => {
    if (bits === null || entry === undefined || entry.mode === LINK)
      return MODES[entry?.mode ?? ''] ?? 0o644;
    return entry.mode === '100755' ? bits | ((bits & 0o444) >> 2) : bits & ~0o111;
  };
}

const applyOf = ({ request, repository: { root } }: Work, proposal: Proposal): ApplyRequest => {
  const { stepKey, holder } = request;
  return { stepKey, workspace: root, decision: 0, holder, ...toApply(proposal) };
};

/** No commit was made: the files go back, as the next try is another merge. */
async function unmade(
  work: Work,
  proposal: Proposal,
  outcome: MergeOutcome,
): Promise<MergeOutcome> {
  await work.parts.engine.rollback(applyOf(work, proposal), work.assertCurrent);
  return outcome;
}

interface Made {
  readonly ours: string;
  readonly tree: string;
  readonly changes: TreeChanges;
  readonly proposal: Proposal;
}

async function commitMerge(
  work: Work,
  { ours, tree, changes, proposal }: Made,
): Promise<MergeOutcome> {
  const { request, repository, lock, parts } = work;
  const { root } = repository;
  const message = await withTrailer(root, request.message, { stepKey: request.stepKey });
  const made = await makeCommit(root, {
    tree,
    parents: request.plain === true ? [ours] : [ours, request.theirs],
    message,
    settings: await commitSettings(root),
    date: lock.takenAt,
    sign: request.sign,
  });
  work.assertCurrent();
  if (!made.ok) return unmade(work, proposal, { outcome: 'failed', problem: made.problem });
  const commit = made.value;
  const landed = await landCommit({
    repository,
    lock,
    commit,
    subject: message.slice(0, message.indexOf('\n')),
    records: [recordName(request.stepKey, proposalIdOf(proposal), 0)],
    changes,
    wait_ms: parts.lockWait_ms ?? 10_000,
    mayMove: () => {
      work.assertCurrent();
      return Promise.resolve(true);
    },
    sys: parts.sys,
  });
  switch (landed.kind) {
    case 'failed':
      return unmade(work, proposal, { outcome: 'failed', problem: landed.problem });
    case 'elsewhere':
      return unmade(work, proposal, { outcome: 'moved', why: landed.why });
    case 'committed':
      return mergedAs(landed.commit, ours, null);
    case 'moved':
      return mergedAs(commit, ours, landed.note);
  }
}

const mergedAs = (commit: string, ours: string, note: string | null): MergeOutcome => {
  const merged = { outcome: 'merged', commit, parent: ours } as const;
  return note === null ? merged : { ...merged, note };
};
