/**
 * Writes a plan's documents and commits them, apart from code: one apply transaction, one commit. ◆ What is to be written is recorded
 * first; a retry writes the same, and nothing is written twice.
 */
import { getJson, putJson } from '../../stores/ports.js';
import { STORE_BOUNDS } from '../../shared/bounds.js';
import { ProblemError, sentence } from '../../shared/problems.js';
import { shownKey, type BlobRef } from '../../shared/ids.js';
import type { MarkPhaseResult, PhaseWriteInput } from '../../shared/plan-activities.js';
import {
  changedTexts,
  dropFolders,
  inWorkspace,
  type ReadPlan,
} from '../../workspace/documents/index.js';
import { recordName, toApply, type Proposal } from '../../workspace/proposal.js';
import type { ApplyRequest, WorkspaceLock } from '../../workspace/ports.js';
import type { ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { recordOnce } from '../frame/recorded.js';
import { noSandboxFor } from '../step/sandbox.js';
import { projectConfig, settingsIn } from '../step/snapshot.js';
import { marksIn } from '../step/commit.js';

/** ◆ What one try is to write; null: nothing is to be changed. */
export interface WriteRecord extends Pick<PlanTexts, 'message' | 'data'> {
  readonly proposal: BlobRef | null;
}
/** `stepKey`: of this write alone; lock, records and commit have it. */
export interface PlanWrite extends Pick<
  PhaseWriteInput,
  'stepKey' | 'workspace' | 'workflowId' | 'namespace'
> {
  readonly settings?: BlobRef;
  /** Written before and in no commit: committed along with this. */
  readonly marks?: readonly BlobRef[];
  /** Not to be committed: a later commit takes it along. */
  readonly hold?: boolean;
  /** Of its commit, where the change says no other. */
  readonly message: string;
  /** Name of the records. */
  readonly name: string;
  /** After a reset a phase may come to something else: then it is written anew. */
  readonly comesTo: string;
}
/** Texts by workspace-relative path. */
export interface PlanTexts {
  readonly before: ReadonlyMap<string, string>;
  readonly after: ReadonlyMap<string, string>;
  readonly message?: string;
  /** Kept with the record, and given back by every retry. */
  readonly data?: unknown;
}
/** A plan's files, whose paths are relative to its folder. */
export const textsInWorkspace = (
  read: ReadPlan,
  root: string,
  { files }: { readonly files: ReadonlyMap<string, string> },
): Map<string, string> =>
  new Map([...files].map(([path, text]) => [inWorkspace(read, root, path), text]));

interface Written {
  readonly outcome: 'written';
  readonly commit: string | null;
  readonly files: readonly string[];
  /** The proposal of what was not committed. */
  readonly held: BlobRef | null;
  /** The marks went along. */
  readonly marks: boolean;
}
type NotWritten = Exclude<MarkPhaseResult, { outcome: 'marked' }>;

type Done = Written & { readonly data: unknown };

/**
 * `change` works from the files as they are now; what it throws is thrown on. ◆ What was once written is not written again, by a late
 * attempt or after a reset: later writes stand on it.
 */
export async function writePlan(
  ports: ActivityPorts,
  wanted: PlanWrite,
  change: () => Promise<PlanTexts>,
  scope: ActivityScope,
): Promise<Done | NotWritten> {
  const key = `steps/${wanted.stepKey}/${wanted.name}`;
  const doneKey = `${key}-done-${wanted.comesTo}`;
  const before = await ports.records.get<Done>(doneKey);
  if (before !== null) return before;
  for (let number = 1; number <= STORE_BOUNDS.markTries; number++) {
    const plan = async (): Promise<WriteRecord> => recordOf(ports, wanted, await change());
    const {
      proposal,
      data,
      message = wanted.message,
    } = await recordOnce(ports.records, `${key}-${number}`, plan);
    const none: Written = { outcome: 'written', commit: null, files: [], held: null, marks: false };
    const done =
      proposal === null
        ? none
        : await write(ports, { ...wanted, message }, { ref: proposal, decision: number }, scope);
    if (done === 'base_changed') continue;
    if (done.outcome !== 'written') return done;
    return (await ports.records.putIfAbsent(doneKey, { ...done, data })).value;
  }
  return {
    outcome: 'conflict',
    why: `someone else saved the plan each of ${STORE_BOUNDS.markTries} times`,
  };
}

async function recordOf(
  ports: ActivityPorts,
  { stepKey, workspace, marks = [], hold = false }: PlanWrite,
  { before, after, ...more }: PlanTexts,
): Promise<WriteRecord> {
  const alone = marks.length > 0 && !hold;
  const files = await changedTexts(
    ports.blobs,
    await ports.workspace.root(workspace),
    before,
    after,
  );
  if (files.length === 0 && !alone) return { proposal: null, ...more };
  const proposal = await putJson(ports.blobs, { stepKey, files, renames: [] } satisfies Proposal);
  return { proposal, ...more };
}

async function write(
  ports: ActivityPorts,
  wanted: PlanWrite,
  { ref, decision }: { readonly ref: BlobRef; readonly decision: number },
  scope: ActivityScope,
): Promise<Written | NotWritten | 'base_changed'> {
  const { stepKey, workspace, workflowId, namespace } = wanted;
  const proposal = await getJson<Proposal>(ports.blobs, ref, 'proposal');
  const holder = { workflowId, namespace };
  const request: ApplyRequest = { stepKey, workspace, decision, holder, ...toApply(proposal) };
  const dropEmpty = async () => dropFolders(await ports.workspace.root(workspace), proposal.files);
  const outcome = await ports.workspace.apply(request, scope.assertCurrent);
  scope.assertCurrent();
  switch (outcome.outcome) {
    case 'busy':
      return { outcome: 'busy', holder: shownKey(outcome.holder.stepKey) };
    case 'base_changed':
      return 'base_changed';
    case 'failed':
      throw new ProblemError(outcome.problem);
    case 'conflict': {
      // Saved by somebody in the moment of writing: theirs stands, the rest goes back, and it is worked out anew.
      await ports.workspace.rollback(request, scope.assertCurrent);
      await ports.workspace.releaseLock(workspace, stepKey, outcome.lock.token);
      return 'base_changed';
    }
    case 'applied': {
      if (wanted.hold === true) {
        await ports.workspace.releaseLock(workspace, stepKey, outcome.lock.token);
        await dropEmpty();
        return { outcome: 'written', commit: null, files: request.files, held: ref, marks: false };
      }
      const committed = await land(ports, wanted, { ...request, lock: outcome.lock }, scope);
      if (committed.outcome === 'written') await dropEmpty();
      return committed;
    }
  }
}

async function land(
  ports: ActivityPorts,
  { workspace, message, settings, marks }: PlanWrite,
  { lock, ...request }: ApplyRequest & { readonly lock: WorkspaceLock },
  scope: ActivityScope,
): Promise<Written | NotWritten> {
  const { stepKey, proposal } = request;
  const { hooks, env, sign, sandbox } = await projectConfig(
    ports,
    workspace,
    settingsIn({ settings }),
  );
  const release = (): Promise<void> => ports.workspace.releaseLock(workspace, stepKey, lock.token);
  const committed = await ports.repository.commit(
    {
      stepKey,
      workspace,
      files: proposal.files,
      renames: [],
      lock,
      date: lock.takenAt,
      message,
      hooks,
      env,
      sign,
      sandbox,
      marks: await marksIn(ports, marks),
      records: [recordName(stepKey, request.proposalId, request.decision)],
      mayMove: async () => {
        scope.assertCurrent();
        return (await ports.workspace.readLock(workspace))?.token === lock.token;
      },
    },
    scope.signal,
  );
  scope.assertCurrent();
  if (committed.outcome === 'committed' || committed.outcome === 'nothing') {
    await release();
    const { commit, marks: along } = { commit: null, marks: false, ...committed };
    return { outcome: 'written', commit, files: request.files, held: null, marks: along };
  }
  if (committed.outcome === 'failed' && ['aborted', 'busy'].includes(committed.problem.code))
    throw new ProblemError(committed.problem);
  await ports.workspace.rollback(request, scope.assertCurrent);
  await release();
  const { outcome } = committed;
  if (outcome === 'no_sandbox')
    return { outcome: 'conflict', why: noSandboxFor('commit hooks', committed.why) };
  if (outcome === 'failed') return { outcome: 'conflict', why: sentence(committed.problem) };
  const why =
    outcome === 'conflict'
      ? `${committed.why}. Commit or undo changes of yours that are in the way`
      : committed.why;
  return { outcome: 'conflict', why };
}
