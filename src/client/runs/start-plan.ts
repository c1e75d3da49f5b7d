/** Finds a plan's document and its newest checkpoint, and starts the plan's run. */
import { realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import type { PlanCheckpoint } from '../../shared/plan.js';
import { fail, ProblemError } from '../../shared/problems.js';
import { refusalOfName } from '../../shared/run-name.js';
import { hostOfQueue } from '../../shared/names.js';
import type { StepKey } from '../../shared/ids.js';
import { runIndex, runsOfPlan } from '../run-index/index.js';
import {
  workflowIdOf,
  placeInput,
  queuesOfPlace,
  settingsInput,
  startRun,
  withoutSecrets,
  type StartedStep,
  type RunSettings,
} from './start.js';
import { openRunOfPlan, type PlanFile } from './plan-runs.js';
import type { Emend } from '../types.js';
import {
  inWorkspace,
  readPlan,
  refuseFaults,
  repositoryFor,
} from '../../workspace/documents/index.js';
import { planPathIn } from '../../documents/job/index.js';
import { reportOf } from '../../documents/plan/index.js';
import { checkFilePath } from '../../documents/source/checked-paths.js';
import type { PlanOptions } from '../../shared/run.js';
import type { PlanInput } from '../../shared/start-input.js';
import { repositoryOf } from '../../workspace/git/index.js';

/** Returns the newest checkpoint of this plan on its host; null: there is none. */
export const checkpointOf = (emend: Emend, plan: PlanFile): Promise<PlanCheckpoint | null> =>
  lastCheckpointed(emend, {
    ...plan,
    host: hostOfQueue(queuesOfPlace(emend, plan.repository).host),
  });

/** Returns the newest checkpoint of a plan on a host; null: there is none. */
export const lastCheckpointed = async (
  emend: Emend,
  {
    except,
    ...place
  }: Pick<PlanFile, 'workspace' | 'planPath'> & {
    readonly host: string;
    /** A run whose own checkpoints do not count. */
    readonly except?: StepKey;
  },
): Promise<PlanCheckpoint | null> => {
  for (const stepKey of runsOfPlan(await runIndex(emend), place)) {
    if (stepKey === except) continue;
    const last = (await emend.archive.lastFile(stepKey, 'checkpoint-')) as PlanCheckpoint | null;
    if (last?.plan_path === place.planPath) return last;
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

/** Of a plan there is one open run, whoever started it: that one is returned. Throws as `startStep` and `openRunOfPlan` do. */
export const startPlan = async (emend: Emend, options: StartPlanOptions): Promise<StartedStep> => {
  const { plan } = options;
  const open = await openRunOfPlan(emend, plan, (key) => `emend plan status ${key}`);
  if (open !== null) {
    const { memo, workflowId, runId } = open;
    return { stepKey: memo.stepKey, workflowId, runId, started: 'already_running' };
  }
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
