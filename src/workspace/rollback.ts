/** Rollback is a transaction of its own, from results back to bases, over what the apply record closed with. */
import { join } from 'node:path';
import { ProblemError } from '../shared/problems.js';
import type { EngineParts } from './apply.js';
import { difference, isAt, look } from './apply-look.js';
import { freshId } from './apply-names.js';
import { openRecord, recordName } from './apply-record.js';
import type { ClosedRecord, PlannedFile, TransactionPlan } from './apply-record.js';
import { asAttempt, transact } from './apply-transact.js';
import type { FileStat } from './sys.js';
import type { ApplyRequest, FileConflict, RollbackOutcome } from './types.js';
import { resolveInWorkspace } from './workspace-path.js';

const SUFFIX = '-rollback';
/** The name of a record's rollback; a rollback's is its own. */
export const rollbackName = (name: string): string => (name.endsWith(SUFFIX) ? name : name + SUFFIX);

/**
 * Puts the files of the request's record back to their base; only those at their result, once per record. A record that is still
 * open is carried to its end first. Throws ProblemError where the disk refuses; nothing is changed then.
 */
export const rollBack = async (parts: EngineParts, request: ApplyRequest): Promise<RollbackOutcome> => {
  const { sys, transactions } = parts;
  const name = recordName(request.stepKey, request.proposalId, request.decision);
  const applied = openRecord(sys, transactions, name);
  // No new plan: an open record is finished or reverted, nothing else.
  await asAttempt((attempt) => transact(parts, applied, attempt, () => Promise.resolve({ ok: false, conflicts: [] })));
  const { closed, plan } = await applied.load();
  if (closed === null || plan === null) return { outcome: 'rolled_back', files: [], kept: closed?.conflicts ?? [] };

  let look_: Looked = { files: [], dirs: [], stats: new Map(), done: [], kept: [] };
  const done = await asAttempt((attempt) =>
    transact(parts, openRecord(sys, transactions, rollbackName(name)), attempt, async (generation) => {
      look_ = await lookBack(parts, plan, closed);
      const { stepKey, proposalId, decision, workspace, lease, dirs: dropDirs } = plan;
      const ids = { stepKey, proposalId, decision, generation, attempt, token: freshId(), process: parts.process };
      const { files, dirs } = look_;
      const back = { v: 1, kind: 'rollback', ...ids, workspace, lease, files, dirs, dropDirs } as const;
      return { ok: true, plan: back, checked: look_ };
    }),
  );
  if (done.outcome === 'failed') throw new ProblemError(done.problem);
  const back = done.outcome === 'closed' ? done.closed : { files: [], conflicts: done.conflicts };
  return {
    outcome: 'rolled_back',
    files: [...look_.done, ...back.files],
    kept: [...closed.conflicts, ...look_.kept, ...back.conflicts],
  };
};

interface Looked {
  readonly files: readonly PlannedFile[];
  readonly dirs: readonly string[];
  readonly stats: ReadonlyMap<string, FileStat>;
  readonly done: readonly string[];
  readonly kept: readonly FileConflict[];
}

const lookBack = async ({ sys }: EngineParts, plan: TransactionPlan, closed: ClosedRecord): Promise<Looked> => {
  const files: PlannedFile[] = [];
  const done: string[] = [];
  const kept: FileConflict[] = [];
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
