/** Starts a plan's run, finds it again by the plan's path, and tells it a person's wishes. */
import { realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import type { PlanCheckpoint } from '../../shared/plan.js';
import { fail, ProblemError } from '../../shared/problems.js';
import { refusalOfName } from '../../shared/run-name.js';
import { hostOfQueue, PLAN_SIGNALS } from '../../shared/names.js';
import type { RepositoryBase } from '../../shared/repository.js';
import { planOf, type StepKey } from '../../shared/ids.js';
import { readAmongOthers } from '../archive/run.js';
import {
  hereId,
  workflowIdOf,
  freeId,
  placeInput,
  queuesOfPlace,
  settingsInput,
  startRun,
  withoutSecrets,
  type StartedStep,
  type RunSettings,
} from './start.js';
import { unknown, withLive, type ResolvedRun } from './resolve.js';
import { type DescribedRun, type Emend, needRuns } from '../types.js';
import {
  inWorkspace,
  readPlan,
  refuseFaults,
  repositoryFor,
} from '../../workspace/documents/index.js';
import { planPathIn } from '../../documents/job/index.js';
import { reportOf } from '../../documents/plan/index.js';
import { checkFilePath } from '../../documents/source/schemas.js';
import type { PlanOptions } from '../../shared/run.js';
import type { PlanInput } from '../../shared/start-input.js';
import { repositoryOf } from '../../workspace/git/index.js';

const CHECKPOINT_ARCHIVES = 1_000; // bound: and archives, newest first, that are looked through for the plan's newest checkpoint.

// The runs of a plan: the one that is open or was the newest, and what the newest checkpoint was saved by.

export interface PlanFile {
  /** Real path of the top of the repository; of one that is nobody's working tree its URL. */
  readonly workspace: string;
  readonly repository?: RepositoryBase;
  /** Relative to it, without its level: `plans/010_demo`. */
  readonly planPath: string;
  readonly title: string;
  readonly workflowId: string;
}

/**
 * This host's open run of the plan, else its newest: two hosts on one namespace may have the plan at the same path, and then the run of
 * one of them has a name of its own. Throws ProblemError `run_unknown`, `no_server` where only a server could tell.
 */
export const runOfPlan = async (emend: Emend, plan: PlanFile): Promise<ResolvedRun> => {
  const { workflowId, planPath } = plan;
  const host = hostOfQueue(queuesOfPlace(emend, plan.repository).host);
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
    const archived = await readAmongOthers(emend, stepKey);
    const { started } = archived;
    if (
      started !== null &&
      ids.includes(started.workflowId) &&
      hostOfQueue(started.queues.host) === host
    )
      return { stepKey, archived, live: null };
  }
  const none = `${planPath} has not been run yet.`;
  return unknown(
    emend,
    `No run of ${planPath} is`,
    none,
    `Start it with: emend plan run ${planPath}`,
  );
};

const rankOf = ({ open, startedAt }: DescribedRun): number =>
  open ? Infinity : startedAt.getTime();

/** Returns the newest checkpoint of this plan on its host; null: there is none. */
export const checkpointOf = (emend: Emend, plan: PlanFile): Promise<PlanCheckpoint | null> =>
  lastCheckpointed(emend, {
    ...plan,
    host: hostOfQueue(queuesOfPlace(emend, plan.repository).host),
  });

/** Returns the newest checkpoint of a plan on a host; null: there is none. */
export const lastCheckpointed = async (
  { archive }: Pick<Emend, 'archive'>,
  {
    workspace,
    planPath,
    host,
    except,
  }: Pick<PlanFile, 'workspace' | 'planPath'> & {
    readonly host: string;
    /** A run whose own checkpoints do not count. */
    readonly except?: StepKey;
  },
): Promise<PlanCheckpoint | null> => {
  const plans = (await archive.list()).filter(
    (stepKey) => planOf(stepKey) === stepKey && stepKey !== except,
  );
  for (const stepKey of plans.slice(0, CHECKPOINT_ARCHIVES)) {
    const reading = archive.lastFile(stepKey, 'checkpoint-') as Promise<PlanCheckpoint | null>;
    // A damaged one of another plan holds up nothing.
    const last = await reading.catch(() => ({ plan_path: planPath }));
    if (last?.plan_path !== planPath) continue;
    const { started } = await readAmongOthers({ archive }, stepKey);
    const isOurs = started?.workspace === workspace && started.jobPath === planPath;
    if (isOurs && hostOfQueue(started.queues.host) === host) return reading;
  }
  return null;
};

/** Over what the document says; null: it is that of a directory, whatever it says. */
export type OnRepository = Partial<Record<'repository' | 'base', string | undefined>> | null;

/**
 * Which plan a path means; its document must be there, or in the repository. Throws ProblemError `plan_not_found`, `plan_invalid`,
 * `not_a_repository`, `usage`.
 */
export const planOfPath = async (
  cwd: string,
  typed: string,
  where: OnRepository = {},
): Promise<PlanFile> => {
  const plan = await readPlan(cwd, typed).catch((error: unknown) => {
    const isAway = where?.repository !== undefined && error instanceof ProblemError;
    if (isAway && error.problem.code === 'plan_not_found') return null;
    throw error;
  });
  if (plan !== null) refuseFaults(reportOf(plan.tree, plan.thresholds, plan.show).faults);
  const repository =
    where && repositoryFor({ workspace: null, ...where }, plan?.tree.main.settings ?? null);
  const top = plan && (await repositoryOf(plan.base))?.root;
  const workspace =
    repository?.url ??
    top ??
    fail(
      'not_a_repository',
      `${typed} is not in a git repository, but each phase of a plan is committed.`,
      'Run `git init`, add the plan and commit once.',
    );
  const planPath =
    plan === null
      ? planPathIn(typed)
      : inWorkspace(plan, top ?? (await realpath(cwd)), plan.place.stem);
  const checked = checkFilePath(planPath);
  if (!checked.ok)
    return fail(
      'usage',
      `${typed}: expected ${checked.expected} in the repository.`,
      'Example: plans/010_greet.md',
    );
  // Before the server has it: what is sent stays in the history.
  const refusal = refusalOfName('plan', planPath);
  if (refusal !== null) throw new ProblemError(refusal);
  const title = plan?.tree.main.title ?? posix.basename(planPath);
  const workflowId = workflowIdOf('plan', workspace, planPath);
  return { workspace, planPath, title, workflowId, ...(repository && { repository }) };
};

/** A plan, and how its run is started. */
export interface StartPlanOptions extends Partial<RunSettings> {
  readonly plan: PlanFile;
  readonly options?: Partial<PlanOptions>;
}

/** Throws as `startStep` does. */
export const startPlan = async (emend: Emend, options: StartPlanOptions): Promise<StartedStep> => {
  const { plan } = options;
  const { workflowId, planPath: jobPath, workspace } = plan;
  return startRun(emend, {
    kind: 'plan',
    workflowId,
    input: await planInput(emend, options),
    queues: queuesOfPlace(emend, plan.repository),
    title: await withoutSecrets(plan.title, workspace),
    jobPath,
    workspace,
  });
};

/** Returns the input of `plan`. */
const planInput = async (
  emend: Pick<Emend, 'queues'>,
  { plan, options, ...settings }: StartPlanOptions,
): Promise<PlanInput> => ({
  planFile: plan.planPath,
  ...placeInput(emend, plan),
  ...Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== null)),
  ...(await settingsInput(settings, plan.workspace)),
});

/** False: no run of the plan is open. */
export const signalPlan = async (
  emend: Emend,
  plan: PlanFile,
  control: keyof typeof PLAN_SIGNALS,
  said: { readonly by: string; readonly text?: string },
): Promise<boolean> => {
  const runs = needRuns(emend);
  const workflowId = await freeId(
    { queues: queuesOfPlace(emend, plan.repository) },
    runs,
    plan.workflowId,
  );
  const text = said.text && (await withoutSecrets(said.text, plan.workspace));
  return runs.signal(
    { workflowId, runId: null },
    PLAN_SIGNALS[control],
    text === undefined ? said : { ...said, text },
  );
};
