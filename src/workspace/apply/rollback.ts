/** Rolls an application back by a transaction of its own: the files that the record closed with change from their results to their bases. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, ProblemError } from '../../shared/problems.js';
import { committedSince } from './repeat.js';
import {
  openRecord,
  type ClosedRecord,
  type PlannedFile,
  type TransactionPlan,
  type TransactionRecord,
} from './record.js';
import { difference, isAt, look } from './sides.js';
import { dirOf, freshId } from './paths.js';
import { isStillDirectory, resolveInWorkspace } from './resolve-path.js';
import { recoverAll } from './recover.js';
import { sysBeneath } from './beneath-sys.js';
import { STAYS } from './forward.js';
import { orNull } from '../../system/durable.js';
import { shownKey } from '../../shared/ids.js';
import { asAttempt, transact, type EngineParts } from './transaction.js';
import type { CurrentTaking } from './lock.js';
import type { FileStat } from '../../system/sys.js';
import type { ConflictFile, Found, RollbackOutcome, RollbackRequest } from '../ports.js';
import { recordName } from '../proposal.js';
import { markReverted } from '../git/commit-branch.js';
import { attributes, type Checked } from './check-files.js';

const SUFFIX = '-rollback';
/** Returns the name of the rollback of a record. That of a rollback is its own name. */
export const rollbackName = (name: string): string =>
  name.endsWith(SUFFIX) ? name : name + SUFFIX;

/**
 * Restores the files of the record to their bases, once per record, and only files that are at their results. A record that is still open is
 * carried to its end first. If the step has made its commit, nothing is restored. Throws ProblemError if the disk refuses (then nothing is
 * changed), and `busy` if another step has locked the workspace.
 */
export const rollBack = async (
  parts: EngineParts,
  request: RollbackRequest,
): Promise<RollbackOutcome> => {
  const { sys, transactions, locks, take, assertCurrent } = parts;
  const { stepKey } = request;
  const name = recordName(stepKey, request.proposalId, request.decision);
  const applied = openRecord(sys, transactions, name);
  const back = openRecord(sys, transactions, rollbackName(name));
  const before = (await back.load()).closed;
  const { closed: first } = await applied.load();
  // The rollback was done before: a late attempt takes no lock and changes nothing.
  if (before !== null && first !== null) return outcomeOf(first, before, NOTHING);

  assertCurrent();
  const workspace = await sys.realpath(request.workspace);
  const taking = await take(workspace, stepKey, request.holder);
  if (taking.outcome === 'busy')
    return fail(
      'busy',
      `Step ${shownKey(taking.holder.stepKey)} has locked ${workspace}; Emend waits for it to end.`,
    );
  try {
    // This comes first: from now on, no late attempt at this application is applied or committed.
    await applied.putReverted();
    await markReverted(workspace, name);
    // An open record is finished or reverted. There is no new plan.
    await asAttempt((attempt) =>
      transact(parts, applied, attempt, () => Promise.resolve({ ok: false, conflicts: [] })),
    );
    const { closed, plan } = await applied.load();
    if (closed === null || plan === null)
      return { outcome: 'rolled_back', files: [], leftAlone: closed?.conflicts ?? [] };
    const commit = await committedSince(sys, plan);
    if (commit !== null) return { outcome: 'committed', commit };
    return await goBack(parts, back, { plan, closed }, taking);
  } finally {
    // A lock that the step had before is not ended here.
    if (taking.taken) await locks.release(workspace, stepKey, taking.lock.token);
  }
};

type RolledBack = Extract<RollbackOutcome, { outcome: 'rolled_back' }>;
interface Going {
  readonly plan: Pick<
    TransactionPlan,
    'stepKey' | 'proposalId' | 'decision' | 'workspace' | 'files' | 'dirs'
  >;
  readonly closed: ClosedRecord;
}
/** Changes the files that the record closed with from their results to their bases, under the lock. */
const goBack = async (
  parts: EngineParts,
  back: TransactionRecord,
  { plan, closed }: Going,
  { lock, isCurrent }: Pick<CurrentTaking, 'lock' | 'isCurrent'>,
): Promise<RolledBack> => {
  let seen = NOTHING;
  const done = await asAttempt((attempt) =>
    transact(parts, back, attempt, async (generation) => {
      seen = await lookBack(parts, plan, closed);
      const { stepKey, proposalId, decision, workspace, dirs: dropDirs } = plan;
      const ids = {
        stepKey,
        proposalId,
        decision,
        generation,
        attempt,
        token: freshId(),
        process: parts.process,
      };
      const { files, dirs } = seen;
      const restoring = {
        kind: 'rollback',
        ...ids,
        workspace,
        lock,
        files,
        dirs,
        dropDirs,
      } as const;
      return { ok: true, plan: restoring, checked: seen, isCurrent };
    }),
  );
  if (done.outcome === 'failed') throw new ProblemError(done.problem);
  return outcomeOf(
    closed,
    done.outcome === 'closed' ? done.closed : { files: [], conflicts: done.conflicts },
    seen,
  );
};

const outcomeOf = (
  applied: ClosedRecord,
  back: Pick<ClosedRecord, 'files' | 'conflicts'>,
  seen: Looked,
): RolledBack => ({
  outcome: 'rolled_back',
  files: [...seen.done, ...back.files],
  leftAlone: [...applied.conflicts, ...seen.kept, ...back.conflicts],
});

interface Looked extends Omit<Checked, 'conflicts'> {
  readonly done: readonly string[];
  readonly kept: readonly ConflictFile[];
}
const NOTHING: Looked = { files: [], dirs: [], stats: new Map(), done: [], kept: [] };

/** Returns the files that a rollback restores, those that are restored already, and those that must stay as they are. */
const lookBack = async (
  { sys }: EngineParts,
  plan: Going['plan'],
  closed: ClosedRecord,
): Promise<Looked> => {
  const files: PlannedFile[] = [];
  const done: string[] = [];
  const kept: ConflictFile[] = [];
  const dirs = new Set<string>();
  const stats = new Map<string, FileStat>();
  for (const file of plan.files) {
    // Emend did not write a change that a person made, and a file with a conflict never had its result.
    if (file.by === 'person' || !closed.files.includes(file.path)) continue;
    const place = await resolveInWorkspace(sys, plan.workspace, file.real);
    const seen = await look(sysBeneath(sys, plan.workspace), join(plan.workspace, file.real));
    if (place.ok && place.real !== file.real)
      kept.push({
        path: file.path,
        why: `${file.path}: a link in its place leads to ${place.real}`,
      });
    else if (isAt(seen, file.base)) done.push(file.path);
    else if (!place.ok) kept.push({ path: file.path, why: `${file.path}: ${place.reason}` });
    else if (!isAt(seen, file.result))
      kept.push({ path: file.path, why: `${file.path}: ${difference(file.result, seen)}` });
    else {
      files.push({
        ...file,
        ...attributes(seen, file),
        base: file.result,
        result: file.base,
        write: true,
      });
      if (seen.kind === 'file') stats.set(file.real, seen.stat);
      if (file.base !== null) place.missing.forEach((dir) => dirs.add(dir));
    }
  }
  return { files, dirs: [...dirs].sort(), stats, done, kept };
};

/**
 * Restores files from the state that was found to their results. Changes that a person saved since stay, and so do entries that no blob can
 * hold; then throws ProblemError `conflict`. Its record has the name of a rollback, so that it is no application. It is removed at the end.
 */
export const putBack = async (
  parts: EngineParts,
  directory: string,
  stepKey: string,
  found: Found,
): Promise<void> => {
  const { sys, transactions } = parts;
  const workspace = await sys.realpath(directory);
  // A transaction that an earlier attempt left open is recovered first.
  await recoverAll(parts, [stepKey]);
  for (const { path } of found)
    if (await isStillDirectory(sys, workspace, dirOf(path)))
      await orNull(sys.rmdir(join(workspace, path)), STAYS);
  const file = { by: 'model', write: true, special: 0, owner: null } as const;
  const files = found.map(({ path, now: current, result }) => ({
    ...file,
    path,
    real: path,
    base: result,
    result: current,
  }));
  const lock = {
    stepKey,
    workflowId: '',
    namespace: '',
    token: 0,
    head: null,
    headRef: null,
    takenAt: '',
  };
  const closed = {
    outcome: 'applied',
    files: files.map(({ path }) => path),
    conflicts: [],
    lock,
  } as const;
  const plan = { stepKey, proposalId: '', decision: 0, workspace, files, dirs: [] };
  const back = openRecord(sys, transactions, rollbackName(`${stepKey}/${freshId()}`));
  const { leftAlone } = await goBack(
    parts,
    back,
    { plan, closed },
    { lock, isCurrent: () => Promise.resolve(true) },
  );
  if (leftAlone.length > 0)
    fail(
      'conflict',
      `${leftAlone.map((conflict) => conflict.why).join('; ')}.`,
      'Restore what was there, then retry.',
    );
  await rm(join(transactions, back.name), { recursive: true, force: true });
};
