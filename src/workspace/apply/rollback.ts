/** Rollback is a transaction of its own, from results back to bases, over what the apply record closed with. */
import { join } from 'node:path';
import { fail, ProblemError } from '../../shared/problems.js';
import { committedSince } from './repeat.js';
import {
  difference,
  isAt,
  look,
  openRecord,
  type ClosedRecord,
  type PlannedFile,
  type TransactionPlan,
  type TransactionRecord,
} from './record.js';
import { freshId, resolveInWorkspace } from './paths.js';
import { shownKey } from '../../shared/ids.js';
import { asAttempt, transact, type EngineParts } from './transaction.js';
import type { CurrentTaking } from './lock.js';
import type { FileStat } from '../../system/sys.js';
import type { ConflictFile, RollbackOutcome, RollbackRequest } from '../ports.js';
import { recordName } from '../proposal.js';
import { markReverted } from '../git/commit-branch.js';
import type { Checked } from './prepare.js';

const SUFFIX = '-rollback';
/** The name of a record's rollback; a rollback's is its own. */
export const rollbackName = (name: string): string => (name.endsWith(SUFFIX) ? name : name + SUFFIX);

/**
 * Puts the files of the request's record back to their base; only those at their result, once per record. A record that is still
 * open is carried to its end first. Where the step's commit is there nothing is put back. Throws ProblemError where the disk refuses
 * (nothing is changed then), and `busy` where another step holds the workspace.
 */
export const rollBack = async (parts: EngineParts, request: RollbackRequest): Promise<RollbackOutcome> => {
  const { sys, transactions, locks, take, assertCurrent } = parts;
  const { stepKey } = request;
  const name = recordName(stepKey, request.proposalId, request.decision);
  const applied = openRecord(sys, transactions, name);
  const back = openRecord(sys, transactions, rollbackName(name));
  const before = (await back.load()).closed;
  const { closed: first } = await applied.load();
  // Done before: a late attempt takes no lock and touches nothing.
  if (before !== null && first !== null) return outcomeOf(first, before, NOTHING);

  assertCurrent();
  const workspace = await sys.realpath(request.workspace);
  const held = await take(workspace, stepKey, request.holder);
  if (held.outcome === 'busy')
    return fail('busy', `Step ${shownKey(held.holder.stepKey)} has locked ${workspace}; Emend waits for it to end.`);
  try {
    return await restore(parts, { workspace, held, name, applied, back });
  } finally {
    // Where the step held it before, its end is not ours to decide.
    if (held.taken) await locks.release(workspace, stepKey, held.lock.token);
  }
};

interface Work {
  readonly workspace: string;
  readonly held: CurrentTaking;
  readonly name: string;
  readonly applied: TransactionRecord;
  readonly back: TransactionRecord;
}

const restore = async (parts: EngineParts, work: Work): Promise<RollbackOutcome> => {
  const { applied, back, held, name } = work;
  // First of all: whatever attempt at this application comes late is neither applied nor committed any more.
  await applied.putReverted();
  await markReverted(work.workspace, name);
  // No new plan: an open record is finished or reverted, nothing else.
  await asAttempt((attempt) => transact(parts, applied, attempt, () => Promise.resolve({ ok: false, conflicts: [] })));
  const { closed, plan } = await applied.load();
  if (closed === null || plan === null)
    return { outcome: 'rolled_back', files: [], leftAlone: closed?.conflicts ?? [] };
  const commit = await committedSince(parts.sys, plan);
  if (commit !== null) return { outcome: 'committed', commit };

  let seen = NOTHING;
  const done = await asAttempt((attempt) =>
    transact(parts, back, attempt, async (generation) => {
      seen = await lookBack(parts, plan, closed);
      const { stepKey, proposalId, decision, workspace, dirs: dropDirs } = plan;
      const ids = { stepKey, proposalId, decision, generation, attempt, token: freshId(), process: parts.process };
      const { files, dirs } = seen;
      const { lock } = held;
      const isCurrent = async (): Promise<boolean> => {
        parts.assertCurrent();
        return held.isCurrent();
      };
      const restoring = { kind: 'rollback', ...ids, workspace, lock, files, dirs, dropDirs } as const;
      return { ok: true, plan: restoring, checked: seen, isCurrent };
    }),
  );
  if (done.outcome === 'failed') throw new ProblemError(done.problem);
  return outcomeOf(closed, done.outcome === 'closed' ? done.closed : { files: [], conflicts: done.conflicts }, seen);
};

const outcomeOf = (
  applied: ClosedRecord,
  back: Pick<ClosedRecord, 'files' | 'conflicts'>,
  seen: Looked,
): RollbackOutcome => ({
  outcome: 'rolled_back',
  files: [...seen.done, ...back.files],
  leftAlone: [...applied.conflicts, ...seen.kept, ...back.conflicts],
});

interface Looked extends Omit<Checked, 'conflicts'> {
  readonly done: readonly string[];
  readonly kept: readonly ConflictFile[];
}
const NOTHING: Looked = { files: [], dirs: [], stats: new Map(), done: [], kept: [] };

const lookBack = async ({ sys }: EngineParts, plan: TransactionPlan, closed: ClosedRecord): Promise<Looked> => {
  const files: PlannedFile[] = [];
  const done: string[] = [];
  const kept: ConflictFile[] = [];
  const dirs = new Set<string>();
  const stats = new Map<string, FileStat>();
  for (const file of plan.files) {
    // A person's own change was never written by us, and a conflict never came to its result.
    if (file.by === 'person' || !closed.files.includes(file.path)) continue;
    const place = await resolveInWorkspace(sys, plan.workspace, file.real);
    const seen = await look(sys, join(plan.workspace, file.real));
    if (isAt(seen, file.base)) done.push(file.path);
    else if (!place.ok) kept.push({ path: file.path, why: `${file.path}: ${place.why}` });
    else if (place.viaLink || !isAt(seen, file.result))
      kept.push({ path: file.path, why: `${file.path}: ${difference(file.result, seen)}` });
    else {
      files.push({ ...file, base: file.result, result: file.base, write: true });
      if (seen.kind === 'file') stats.set(file.real, seen.stat);
      if (file.base !== null) place.missing.forEach((dir) => dirs.add(dir));
    }
  }
  return { files, dirs: [...dirs].sort(), stats, done, kept };
};
