/** Starts a plan's run, finds it again by the plan's path, and tells it a person's wishes. */
import type { PlanCheckpoint } from '../../shared/plan.js';
import { fail } from '../../shared/problems.js';
import { hostOfQueue, PLAN_SIGNALS } from '../../shared/names.js';
import { planOf, type StepKey } from '../../shared/ids.js';
import { archivedRun } from '../archive/run.js';
import { hereId, workflowIdOf, freeId, runInput, startPlanRun, type StartedStep, type WantedOfRun } from './start.js';
import { withLive, type ResolvedRun } from './resolve.js';
import { type DescribedRun, type Emend, needRuns } from '../types.js';
import { inWorkspace, readPlan, refuseFaults } from '../../workspace/documents/index.js';
import { reportOf } from '../../documents/plan/index.js';
import type { PlanInput, PlanOptions } from '../../shared/run.js';
import { repositoryOf } from '../../workspace/git/index.js';

const CHECKPOINT_ARCHIVES = 1_000; // bound: and archives, newest first, that are looked through for the plan's newest checkpoint.

// The runs of a plan: the one that is open or was the newest, and what the newest checkpoint was saved by.

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
    run?.memo?.host === host;
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
    : fail('run_unknown', `${planPath} has not been run yet.`, `Start it with: emend plan run ${planPath}`);
};

const rankOf = ({ open, startedAt }: DescribedRun): number => (open ? Infinity : startedAt.getTime());

/** The run of this plan on this host that saved the newest checkpoint; null: none did. */
export const lastCheckpointed = async (
  { archive, queues }: Emend,
  { workspace, planPath }: PlanFile,
): Promise<StepKey | null> => {
  const plans = (await archive.list()).filter((stepKey) => planOf(stepKey) === stepKey);
  for (const stepKey of plans.slice(0, CHECKPOINT_ARCHIVES)) {
    const last = (await archive.lastFile(stepKey, 'checkpoint-')) as PlanCheckpoint | null;
    if (last?.plan_path !== planPath) continue;
    const { started } = archivedRun(stepKey, await archive.read(stepKey));
    if (started?.workspace === workspace && hostOfQueue(started.queues.host) === hostOfQueue(queues.host))
      return stepKey;
  }
  return null;
};

/** Which plan a path means; its document must be there. Throws ProblemError `plan_not_found`, `plan_invalid`, `not_a_repository`. */
export const planOfPath = async (cwd: string, typed: string): Promise<PlanFile> => {
  const plan = await readPlan(cwd, typed);
  refuseFaults(reportOf(plan.tree, plan.thresholds, plan.show).faults);
  const repository = await repositoryOf(plan.base);
  if (repository === null)
    return fail(
      'not_a_repository',
      `${typed} is not in a git repository, but each phase of a plan is committed.`,
      'Run `git init`, add the plan and commit once.',
    );
  const planPath = inWorkspace(plan, repository.root, plan.place.stem);
  return {
    workspace: repository.root,
    planPath,
    title: plan.tree.main.title ?? plan.place.stem,
    workflowId: workflowIdOf('plan', repository.root, planPath),
  };
};

/** A plan, and how its run is started. */
export interface StartPlanOptions extends Partial<WantedOfRun> {
  readonly plan: PlanFile;
  readonly options?: Partial<PlanOptions>;
}

/** Throws as `startStep` does. */
export const startPlan = async (emend: Emend, options: StartPlanOptions): Promise<StartedStep> =>
  startPlanRun(emend, options.plan.workflowId, await planInput(emend, options));

export const planInput = async (emend: Emend, { plan, ...more }: StartPlanOptions): Promise<PlanInput> => {
  const left = await lastCheckpointed(emend, plan);
  return {
    ...(await runInput(emend, plan.workspace, plan.title, more)),
    planPath: plan.planPath,
    options: {
      phase: null,
      mode: 'auto',
      forceReplan: false,
      drift: null,
      estimate: 'ask',
      restart: false,
      ...more.options,
    },
    ...(left === null ? {} : { resumeFrom: left }),
  };
};

/** False: no run of the plan is open. */
export const signalPlan = async (
  emend: Emend,
  plan: PlanFile,
  control: keyof typeof PLAN_SIGNALS,
  said: { readonly by: string; readonly text?: string },
): Promise<boolean> => {
  const runs = needRuns(emend);
  const workflowId = await freeId(emend, runs, plan.workflowId);
  return runs.signal({ workflowId, runId: null }, PLAN_SIGNALS[control], said);
};
