/** Starts a plan's run, finds it again by the plan's path, and tells it a person's wishes. */
import { join, relative, sep } from 'node:path';
import { readPlan } from '../plan-files/read.js';
import { reportOf } from '../plan/report.js';
import type { LimitName } from '../shared/limits.js';
import type { PlanInput, PlanOptions } from '../shared/plan/types.js';
import { fail, problem, ProblemsError } from '../shared/problems.js';
import { PLAN_SIGNALS } from '../shared/protocol.js';
import { currentRules } from '../shared/rules.js';
import { repositoryOf } from '../workspace/git.js';
import { newStepKey, planIdOf } from './ids.js';
import { lastCheckpointed, type PlanFile } from './plan-runs.js';
import { needRuns } from './need-runs.js';
import { freeId, startPlanRun, type StartedStep } from './start-step.js';
import type { Emend } from './types.js';

/** Which plan a path means; its document must be there. Throws ProblemError `plan_not_found`, `plan_invalid`, `not_a_repository`. */
export const planOfPath = async (cwd: string, typed: string): Promise<PlanFile> => {
  const plan = await readPlan(cwd, typed);
  const faults = reportOf(plan.tree, plan.thresholds, plan.show).faults.map(({ file, line, message }) =>
    problem('plan_invalid', `${file}:${line}: ${message}`),
  );
  const [first, ...others] = faults;
  if (first !== undefined) throw new ProblemsError([first, ...others]);
  const repository = await repositoryOf(plan.base);
  if (repository === null)
    return fail(
      'not_a_repository',
      `${typed} lies in no git repository, and each phase of a plan is committed.`,
      'Run `git init`, add the plan and commit once.',
    );
  const planPath = relative(repository.root, join(plan.base, plan.place.stem)).split(sep).join('/');
  return {
    workspace: repository.root,
    planPath,
    title: plan.tree.main.title ?? plan.place.stem,
    workflowId: planIdOf(repository.root, planPath),
  };
};

export interface StartPlanOptions {
  readonly plan: PlanFile;
  readonly options?: Partial<PlanOptions>;
  readonly overrides?: Partial<Record<LimitName, number>>;
  readonly approval?: 'ask' | 'auto';
  readonly hints?: readonly string[];
}

/** Throws as `startStep` does. */
export const startPlan = async (emend: Emend, { plan, ...more }: StartPlanOptions): Promise<StartedStep> => {
  const runs = needRuns(emend);
  const left = await lastCheckpointed(emend, plan);
  const input: PlanInput = {
    v: 1,
    stepKey: newStepKey(),
    workspace: plan.workspace,
    planPath: plan.planPath,
    title: plan.title,
    queues: emend.queues,
    timings: emend.timings,
    rules: currentRules(),
    overrides: more.overrides ?? {},
    ...(more.approval === undefined ? {} : { approval: more.approval }),
    hints: more.hints ?? [],
    searchAttributes: await runs.searchAttributes(),
    options: { phase: null, mode: 'auto', forceReplan: false, drift: null, estimate: 'ask', ...more.options },
    ...(left === null ? {} : { left }),
  };
  return startPlanRun(emend, plan.workflowId, input);
};

/** False: no run of the plan is open. */
export const tellPlan = async (
  emend: Emend,
  plan: PlanFile,
  wish: keyof typeof PLAN_SIGNALS,
  by: string,
  text?: string,
): Promise<boolean> => {
  const runs = needRuns(emend);
  const workflowId = await freeId(emend, runs, plan.workflowId);
  return runs.signal({ workflowId, runId: null }, PLAN_SIGNALS[wish], { by, ...(text === undefined ? {} : { text }) });
};
