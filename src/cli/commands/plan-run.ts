/** `emend plan run`: starts a plan (or joins its open run), shows it with its phases, asks, and says how it ended. */
import { pullRequestOf } from '../headless/pull-request.js';
import { configurationCommit } from '../headless/target-branch.js';
import { planOfPath, startPlan, checkpointOf } from '../../client/runs/start-plan.js';
import type { PlanFile } from '../../client/runs/plan-runs.js';
import { fail, type ExitCode } from '../../shared/problems.js';
import { branchOf } from '../../shared/repository.js';
import { publish } from '../headless/approve.js';
import { begin, type BeginFlags, tellEnd } from '../begin-end.js';
import { followPlan } from '../follow-run.js';
import { exitOfFollowed } from '../errors.js';
import { refuseHalfDone } from './plan-files.js';
import type { Io } from '../io.js';
import { eventPrinter, printJson } from '../json.js';
import { tellEstimate, type RunFlags } from './run.js';
import { runOverrides, type Session } from '../session.js';
import { withRunning } from '../services.js';
import type { StartedStep } from '../../client/runs/start.js';
import type { StepResult } from '../../shared/run.js';

type SharedFlags = Pick<RunFlags, 'base' | 'set' | 'hint' | 'estimate' | 'draftPr' | 'configFrom'>;
/** Over what the plan's document says. */
export interface At {
  readonly repository?: string;
}
export interface PlanRunFlags extends BeginFlags, At, SharedFlags {
  readonly phase?: string;
  readonly sequential?: true;
  readonly waves?: true;
  readonly auto?: true;
  readonly forceReplan?: true;
  readonly reportScopeDrift?: string;
  readonly restart?: true;
}

/** Returns the commit that configuration is read from; null: the workspace, or the base branch of a repository. */
async function commitForPlan(
  { env }: Io,
  { repository, workspace }: PlanFile,
  path: string,
  flags: Pick<PlanRunFlags, 'repository' | 'configFrom'>,
): Promise<string | null> {
  if (repository === undefined) return configurationCommit(env, workspace, flags.configFrom);
  // The plan of the pull request itself names the repository, with the configuration in it.
  if (flags.repository === undefined && pullRequestOf(env) !== null)
    fail(
      'usage',
      `${path} names a repository. In a run on a pull request only the command names one.`,
      'Add --repository URL --base BRANCH.',
    );
  return null;
}

export const runPlan = async (io: Io, path: string, flags: PlanRunFlags): Promise<ExitCode> => {
  const overrides = await runOverrides(flags.set);
  const phase = flags.phase === undefined ? null : phaseNumber(flags.phase, '--phase');
  await refuseHalfDone(io, path);
  const plan = await planOfPath(io.cwd, path, flags);
  if (flags.estimate === true) {
    const { workspace, repository, planPath: path } = plan;
    return tellEstimate(io, { workspace, repository, path, overrides }, flags);
  }
  if (flags.draftPr === true && plan.repository === undefined)
    fail('usage', '--draft-pr needs a repository.', 'Add --repository URL --base BRANCH.');
  const commit = await commitForPlan(io, plan, path, flags);
  return withRunning(io, flags, async (session, signal) => {
    const step = await startPlan(session.emend, {
      plan,
      overrides,
      hints: flags.hint,
      ...(commit === null ? {} : { configurationCommit: commit }),
      ...(flags.auto === true ? { approval: 'auto' as const } : {}),
      options: {
        phase,
        mode: flags.sequential === true ? 'sequential' : flags.waves === true ? 'waves' : 'auto',
        forceReplan: flags.forceReplan === true,
        drift: flags.reportScopeDrift ?? null,
        estimate: flags.yes === true ? 'approved' : 'ask',
        restart: flags.restart === true,
      },
    });
    const already = 'This plan is already running; showing it.';
    const { resolved, shown, link, options } = await begin(session, step, plan.title, already);
    const onEvent = eventPrinter(io, flags);
    const followed = await followPlan(session, resolved, {
      ...options,
      live: false,
      signal,
      onEvent,
    });
    const exit = exitOfFollowed(followed);
    if (flags.json === true) printJson(io, 'plan run', { v: 1, ...step, link, ...followed, exit });
    else await tellEnd(session, { shown, workspace: plan.workspace }, followed);
    const result = followed.kind === 'closed' ? followed.closed.result : null;
    if (flags.draftPr === true) await openPullRequest(session, plan, { step, shown, result });
    return exit;
  });
};

/** Opens a draft pull request for the branch of a plan's run on a repository. */
async function openPullRequest(
  { io, emend }: Pick<Session, 'io' | 'emend'>,
  plan: PlanFile,
  run: {
    readonly step: StartedStep;
    readonly shown: string;
    readonly result: StepResult | null;
  },
): Promise<void> {
  if (plan.repository === undefined || run.result === null) return;
  // An earlier run's, where this one went on with it.
  const branch = (await checkpointOf(emend, plan))?.branch ?? branchOf(run.step.stepKey);
  const publishing = {
    branch,
    remote: plan.workspace,
    pullRequest: true,
    repository: plan.repository,
  };
  const { workspace, title } = plan;
  await publish(io, run.result, publishing, { workspace, title, run: run.shown, plan: true });
}

/** `where` it was written. */
export const phaseNumber = (written: string, where: string): number =>
  /^\d{1,4}$/.test(written)
    ? Number(written)
    : fail(
        'usage',
        `${where}: expected the number of a phase, received ${JSON.stringify(written)}.`,
      );
