/** Workspaces that are still held by runs that have ended (terminated, deleted): found here, put right when a person says how. */
import { fail } from '../shared/problems.js';
import type { StepKey } from '../shared/refs.js';
import { createApplyEngine } from '../workspace/apply.js';
import { isOpen, openRecord } from '../workspace/apply-record.js';
import type { ClosedRecord, TransactionPlan } from '../workspace/apply-record.js';
import { homePaths } from '../workspace/home.js';
import { rollbackName } from '../workspace/rollback.js';
import { orNull } from '../workspace/sys-put.js';
import { realSys } from '../workspace/sys.js';
import type { ApplyRequest, FileConflict, LeaseHolder, Proposal } from '../workspace/types.js';
import { archivedRun, proposalRef } from './archived.js';
import type { RecoveryData } from './archived.js';
import type { Emend } from './types.js';

/** Archives looked through for workspaces. */
const MAX_ARCHIVES = 1000;

export interface StaleHold {
  readonly stepKey: StepKey;
  readonly workspace: string;
  readonly holder: LeaseHolder;
  /** How the run ended, or that the server does not know it. */
  readonly ended: string;
  /** It worked from another `EMEND_HOME`: what it applied is recorded there, and can be undone only there. */
  readonly elsewhere: boolean;
  /** What it applied under this lease and nobody rolled back, as far as this home knows. */
  readonly files: readonly string[];
}
export interface HoldEnded {
  readonly files: readonly string[];
  /** Changed meanwhile, so left alone. */
  readonly kept: readonly FileConflict[];
}

/** Asks the server about each held workspace that the archive names; without a server nothing can be said of any of them. */
export const staleHolds = async (emend: Emend): Promise<readonly StaleHold[]> => {
  if (emend.runs === null) return [];
  const engine = createApplyEngine({ home: emend.home, blobs: emend.blobs });
  const found: StaleHold[] = [];
  for (const workspace of await knownWorkspaces(emend)) {
    const there = await orNull(realSys.stat(workspace), ['ENOENT', 'ENOTDIR', 'EACCES']);
    const holder = there === null ? null : await engine.readLease(workspace);
    if (holder?.namespace !== emend.namespace) continue;
    const run = await emend.runs.describe({ workflowId: holder.workflowId, runId: null });
    if (run?.open === true && run.memo?.stepKey === holder.stepKey) continue;
    const { stepKey } = holder;
    const files = (await appliedRecords(emend, { stepKey, workspace, holder })).flatMap(({ closed }) => closed.files);
    const ended = run?.status.toLowerCase() ?? 'not known to the server';
    const elsewhere = await isElsewhere(emend, stepKey);
    found.push({ stepKey, workspace, holder, ended, elsewhere, files: [...new Set(files)] });
  }
  return found;
};

/** `undo` puts the files back that the step applied and nobody changed since; then the workspace is free again. */
export const endHold = async (emend: Emend, hold: StaleHold, how: 'undo' | 'keep'): Promise<HoldEnded> => {
  if (how === 'undo' && hold.elsewhere)
    return fail(
      'conflict',
      `The run ${hold.stepKey.slice(0, 8)} worked from another EMEND_HOME than ${emend.home}; only there its changes can be undone.`,
      'Run `emend recover` with that EMEND_HOME; where it is lost, put the files back with git and end the hold with --keep.',
    );
  const engine = createApplyEngine({ home: emend.home, blobs: emend.blobs });
  const files: string[] = [];
  const kept: FileConflict[] = [];
  // The last application first: each goes back to what was there before it.
  const requests = how === 'undo' ? (await applications(emend, hold)).reverse() : [];
  for (const request of requests) {
    const undone = await engine.rollback(request);
    if (undone.outcome === 'committed') {
      const { commit } = undone;
      kept.push({ path: '(commit)', why: `its commit ${commit.slice(0, 12)} is there: git revert takes it back` });
      break;
    }
    files.push(...undone.files);
    kept.push(...undone.kept);
  }
  await engine.releaseLease(hold.workspace, hold.stepKey);
  const data: RecoveryData = { v: 1, how, files };
  const id = `recovery-${hold.holder.number}-${how}`;
  await emend.archive.append(hold.stepKey, [{ v: 1, id, at: new Date().toISOString(), kind: 'recovery', data }]);
  return { files, kept };
};

const knownWorkspaces = async ({ archive }: Emend): Promise<readonly string[]> => {
  const keys = (await archive.list()).slice(0, MAX_ARCHIVES);
  const workspaces = await Promise.all(
    keys.map(async (stepKey) => archivedRun(stepKey, await archive.read(stepKey)).started?.workspace),
  );
  return [...new Set(workspaces.filter((workspace) => workspace !== undefined))];
};

/** Homes may share a store, a repository or both: a lease in its git directory may be another home's. */
const isElsewhere = async ({ home, archive, queues }: Emend, stepKey: StepKey): Promise<boolean> => {
  if ((await orNull(realSys.stat(`${homePaths(home).transactions}/${stepKey}`))) !== null) return false;
  const { started } = archivedRun(stepKey, await archive.read(stepKey));
  return started === null || hostOf(started.queues.host) !== hostOf(queues.host);
};

/** The host's id in the name of its queue, whose prefix a person may change. */
const hostOf = (queue: string): string => queue.slice(queue.lastIndexOf('-') + 1);

type Held = Pick<StaleHold, 'stepKey' | 'workspace' | 'holder'>;

/** The step's closed records of this lease, those that were rolled back left out, in order of their decisions. */
const appliedRecords = async ({ home }: Emend, { stepKey, holder, workspace }: Held) => {
  const { transactions } = homePaths(home);
  const load = (name: string) => openRecord(realSys, transactions, name).load();
  const names = (await orNull(realSys.readdir(`${transactions}/${stepKey}`))) ?? [];
  const found: { readonly plan: TransactionPlan; readonly closed: ClosedRecord }[] = [];
  for (const name of names) {
    const back = rollbackName(name);
    if (back !== name && names.includes(back) && (await load(`${stepKey}/${back}`)).closed !== null) continue;
    const { plan, closed, ...rest } = await load(`${stepKey}/${name}`);
    if (plan?.kind !== 'apply' || closed === null || isOpen({ plan, closed, ...rest })) continue;
    if (plan.lease.number === holder.number && plan.workspace === workspace) found.push({ plan, closed });
  }
  return found.sort((a, b) => a.plan.decision - b.plan.decision);
};

const applications = async (emend: Emend, hold: StaleHold): Promise<ApplyRequest[]> => {
  const { stepKey, holder, workspace } = hold;
  const entries = await emend.archive.read(stepKey);
  const requests: ApplyRequest[] = [];
  for (const { plan, closed } of await appliedRecords(emend, hold)) {
    const ref = proposalRef(entries, plan.proposalId);
    if (ref === null)
      return fail(
        'blob_lost',
        `The archive of ${stepKey} does not name proposal ${plan.proposalId.slice(0, 8)}, so it cannot be undone.`,
        'Put the files back with git, then end the hold with --keep.',
      );
    const proposal = JSON.parse(new TextDecoder().decode(await emend.blobs.get(ref))) as Proposal;
    const { proposalId, decision } = plan;
    requests.push({ stepKey, workspace, proposalId, proposal, decision, files: closed.files, holder });
  }
  return requests;
};
