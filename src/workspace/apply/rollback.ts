/** Rollback is a transaction of its own, from results back to bases, over what the apply record closed with. */
import { rm } from 'node:fs/promises';
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
import { dirOf, freshId, isStillDirectory, resolveInWorkspace } from './paths.js';
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
import { attributes, type Checked } from './prepare.js';

const SUFFIX = '-rollback';
/** The name of a record's rollback; a rollback's is its own. */
export const rollbackName = (name: string): string =>
  name.endsWith(SUFFIX) ? name : name + SUFFIX;

/**
 * Puts the files of the request's record back to their base; only those at their result, once per record. A record that is still
 * open is carried to its end first. Where the step's commit is there nothing is put back. Throws ProblemError where the disk refuses
 * (nothing is changed then), and `busy` where another step holds the workspace.
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
  // Done before: a late attempt takes no lock and touches nothing.
  if (before !== null && first !== null) return outcomeOf(first, before, NOTHING);

  assertCurrent();
  const workspace = await sys.realpath(request.workspace);
  const held = await take(workspace, stepKey, request.holder);
  if (held.outcome === 'busy')
    return fail(
      'busy',
      `Step ${shownKey(held.holder.stepKey)} has locked ${workspace}; Emend waits for it to end.`,
    );
  try {
    // First of all: whatever attempt at this application comes late is neither applied nor committed any more.
    await applied.putReverted();
    await markReverted(workspace, name);
    // No new plan: an open record is finished or reverted, nothing else.
    await asAttempt((attempt) =>
      transact(parts, applied, attempt, () => Promise.resolve({ ok: false, conflicts: [] })),
    );
    const { closed, plan } = await applied.load();
    if (closed === null || plan === null)
      return { outcome: 'rolled_back', files: [], leftAlone: closed?.conflicts ?? [] };
    const commit = await committedSince(sys, plan);
    if (commit !== null) return { outcome: 'committed', commit };
    return await goBack(parts, back, { plan, closed }, held);
  } finally {
    // Where the step held it before, its end is not ours to decide.
    if (held.taken) await locks.release(workspace, stepKey, held.lock.token);
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
/** From the results that it closed with to the bases. */
const goBack = async (
  parts: EngineParts,
  back: TransactionRecord,
  { plan, closed }: Going,
  held: Pick<CurrentTaking, 'lock' | 'isCurrent'>,
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
      const { lock, isCurrent } = held;
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
    // A person's own change was never written by us, and a conflict never came to its result.
    if (file.by === 'person' || !closed.files.includes(file.path)) continue;
    const place = await resolveInWorkspace(sys, plan.workspace, file.real);
    const seen = await look(sysBeneath(sys, plan.workspace), join(plan.workspace, file.real));
    if (place.ok && place.real !== file.real)
      kept.push({
        path: file.path,
        why: `${file.path}: a link in its place leads to ${place.real}`,
      });
    else if (isAt(seen, file.base)) done.push(file.path);
    else if (!place.ok) kept.push({ path: file.path, why: `${file.path}: ${place.why}` });
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
 * The same from what was found to what should be there. What a person saved since stays, and what no blob can hold. Nobody takes its
 * record for an application; it goes once all is as it should be.
 */
export const putBack = async (
  parts: EngineParts,
  given: string,
  stepKey: string,
  found: Found,
): Promise<void> => {
  const { sys, transactions } = parts;
  const workspace = await sys.realpath(given);
  // What an earlier attempt left half-way comes first.
  await recoverAll(parts, [stepKey]);
  for (const { path } of found)
    if (await isStillDirectory(sys, workspace, dirOf(path)))
      await orNull(sys.rmdir(join(workspace, path)), STAYS);
  const file = { by: 'model', write: true, special: 0, owner: null } as const;
  const files = found.map(({ path, now, result }) => ({
    ...file,
    path,
    real: path,
    base: result,
    result: now,
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
      `${leftAlone.map(({ why }) => why).join('; ')}.`,
      'Restore what was there, then retry.',
    );
  await rm(join(transactions, back.name), { recursive: true, force: true });
};
