/** The runs of a plan: the one that is open or was the newest, and what the newest checkpoint was saved by. */
import { STORE_BOUNDS } from '../shared/bounds.js';
import type { PlanCheckpoint } from '../shared/plan/checkpoint.js';
import { fail } from '../shared/problems.js';
import { hostOfQueue } from '../shared/protocol.js';
import { planOf, type StepKey } from '../shared/refs.js';
import { isKnown } from '../shared/versions.js';
import { archivedRun } from './archived.js';
import { hereId } from './ids.js';
import { withLive, type ResolvedRun } from './resolve-run.js';
import type { DescribedRun, Emend } from './types.js';

export interface PlanFile {
  /** Real path of the top of the repository. */
  readonly workspace: string;
  /** Relative to it, without its level: `plans/010_demo`. */
  readonly planPath: string;
  readonly title: string;
  readonly workflowId: string;
}

/**
 * This host's open run of the plan, else its newest: two hosts on one namespace may have the plan at the same path, and then the run of
 * one of them has a name of its own. Throws ProblemError `run_unknown`, `no_server` where only a server could tell.
 */
export const runOfPlan = async (emend: Emend, { workflowId, planPath }: PlanFile): Promise<ResolvedRun> => {
  const host = hostOfQueue(emend.queues.host);
  const ids = [workflowId, hereId(workflowId, host)];
  const found = await Promise.all(
    ids.map(async (id) => (await emend.runs?.describe({ workflowId: id, runId: null })) ?? null),
  );
  const isOurs = (run: DescribedRun | null): run is DescribedRun & { readonly memo: object } =>
    run?.memo != null && (run.memo.host ?? host) === host;
  const [newest] = found.filter(isOurs).sort((a, b) => rankOf(b) - rankOf(a));
  if (newest !== undefined) return withLive(emend, newest.memo.stepKey, newest);
  for (const stepKey of await emend.archive.list()) {
    if (planOf(stepKey) !== stepKey) continue;
    const archived = archivedRun(stepKey, await emend.archive.read(stepKey));
    const { started } = archived;
    if (started !== null && ids.includes(started.workflowId) && hostOfQueue(started.queues.host) === host)
      return { stepKey, archived, live: null };
  }
  const { runs, unreachable } = emend;
  return runs === null && unreachable !== null
    ? fail(
        'no_server',
        `No run of ${planPath} is in the archive of this machine. ${unreachable.message}`,
        unreachable.next,
      )
    : fail('run_unknown', `${planPath} was not run yet.`, `Start it with: emend plan run ${planPath}`);
};

const rankOf = ({ open, startedAt }: DescribedRun): number => (open ? Infinity : startedAt.getTime());

/** The run of this plan on this host that saved the newest checkpoint; null: none did. */
export const lastCheckpointed = async (
  { archive, queues }: Emend,
  { workspace, planPath }: PlanFile,
): Promise<StepKey | null> => {
  const plans = (await archive.list()).filter((stepKey) => planOf(stepKey) === stepKey);
  for (const stepKey of plans.slice(0, STORE_BOUNDS.checkpointArchives)) {
    const last = await archive.lastKept(stepKey, 'checkpoint-');
    if (!isKnown(last) || (last as PlanCheckpoint).plan_path !== planPath) continue;
    const { started } = archivedRun(stepKey, await archive.read(stepKey));
    if (started?.workspace === workspace && hostOfQueue(started.queues.host) === hostOfQueue(queues.host))
      return stepKey;
  }
  return null;
};
