/** `emend plan run`: starts a plan (or joins its open run), shows it with its phases, asks, and says how it ended. */
import { pullRequestOf } from '../headless/pull-request.js';
import { configurationCommit } from '../headless/target-branch.js';
import {
  type PlanFile,
  planOfPath,
  startPlan,
  checkpointOf,
  runOfPlan,
  signalPlan,
} from '../../client/runs/start-plan.js';
import { fail, type ExitCode, EXIT } from '../../shared/problems.js';
import { BOUNDS } from '../../shared/limits.js';
import { shownKey } from '../../shared/ids.js';
import type { PLAN_SIGNALS } from '../../shared/names.js';
import { branchOf } from '../../shared/repository.js';
import { publish } from '../headless/approve.js';
import { begin, type BeginFlags, tellEnd } from '../begin-end.js';
import { followPlan } from '../follow-run.js';
import { exitOfFollowed } from '../errors.js';
import { refuseHalfDone } from './plan-files.js';
import { type Io, type JsonFlag, type QuietFlag, asides } from '../io.js';
import { eventPrinter, printFound, printJson } from '../json.js';
import { viewLines } from '../render/run.js';
import { tellEstimate, type RunFlags } from './run.js';
import { runOverrides, type Session, withEmend } from '../session.js';
import { withRunning } from '../services.js';
import { shellWord } from '../../shared/text.js';
import { loginName } from '../../client/runs/decide.js';
import type { StartedStep } from '../../client/runs/start.js';
import type { StepResult } from '../../shared/run.js';
import { showWithPhases } from '../../client/runs/show.js';
import { reading } from '../../client/open.js';

type SharedFlags = Pick<RunFlags, 'base' | 'set' | 'hint' | 'estimate' | 'draftPr' | 'configFrom'>;
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
    else tellEnd(session, { shown, workspace: plan.workspace }, followed);
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

// `emend plan pause|resume|stop|status`: a person's wishes to the open run of a plan, and what it does.

interface At {
  readonly repository?: string;
}
type Flags = QuietFlag & JsonFlag & At;
/** An open run knows what it began at. */
const findPlan = async (io: Io, path: string, { repository }: At): Promise<PlanFile> => {
  await refuseHalfDone(io, path);
  return planOfPath(io.cwd, path, { repository, base: repository && 'HEAD' });
};

type Control = 'pause' | 'resume' | 'stop' | 'drift' | 'revise';
/** The message `revise` answers a decision, so the signal for the plan has another name. */
const SIGNAL_OF: Readonly<Record<Control, keyof typeof PLAN_SIGNALS>> = {
  pause: 'pause',
  resume: 'resume',
  stop: 'stop',
  drift: 'drift',
  revise: 'replan',
};

/** `undo`: what `emend plan resume` does about it. */
const control =
  (
    name: Control,
    what: string,
    { text, undo }: { readonly text?: string; readonly undo?: string } = {},
  ) =>
  (io: Io, path: string, flags: Flags): Promise<ExitCode> =>
    withEmend(io, async (emend) => {
      const plan = await findPlan(io, path, flags);
      if (
        !(await signalPlan(emend, plan, SIGNAL_OF[name], {
          by: loginName(),
          ...(text === undefined ? {} : { text }),
        }))
      )
        return noneOpen(plan, text);
      const on =
        flags.repository === undefined ? '' : ` --repository ${shellWord(flags.repository)}`;
      const hint =
        undo === undefined ? '' : `; ${undo} with: emend plan resume ${shellWord(path)}${on}`;
      return tell({ io, flags }, plan, name, `${what}${asides(io, flags).after(hint)}`);
    });

const noneOpen = ({ planPath }: PlanFile, text: string | undefined, more = ''): never => {
  const next = `emend plan run ${planPath}${text === undefined ? '' : ` --report-scope-drift ${shellWord(text)}`}`;
  return fail('run_unknown', `No run of ${planPath} is open${more}.`, `Start one with: ${next}`);
};

const tell = (
  to: Pick<Session<Flags>, 'io' | 'flags'>,
  plan: PlanFile,
  control: Control,
  said: string,
): ExitCode => {
  const { planPath, workflowId } = plan;
  printFound(to, 'plan pause', { v: 1, workflowId, control }, [`${planPath}: ${said}`]);
  return EXIT.done;
};

export const pause = control('pause', 'will pause before the next phase', { undo: 'continue' });

/** Where no run is open the plan is started where the last one left it. */
export const resume = async (io: Io, path: string, flags: Flags): Promise<ExitCode> => {
  const plan = await findPlan(io, path, flags);
  const left = await withEmend(io, async (emend) =>
    (await signalPlan(emend, plan, 'resume', { by: loginName() }))
      ? 'open'
      : checkpointOf(emend, plan),
  );
  if (left === 'open') return tell({ io, flags }, plan, 'resume', 'continues');
  if (left === null) return noneOpen(plan, undefined, ', and none left a checkpoint');
  return runPlan(io, path, {
    set: [],
    hint: [],
    ...flags,
    ...(left.base !== undefined && { base: left.base }),
  });
};
export const stop = control('stop', 'will end after the current phase', { undo: 'cancel' });

/** Where no run is open nobody would take it up: the next run takes it with its start. */
const report =
  (name: 'drift' | 'revise', expected: string) =>
  (io: Io, path: string, text: string, flags: Flags): Promise<ExitCode> => {
    const { length } = text.trim();
    const most = BOUNDS.reason_chars;
    if (length > 0 && length <= most)
      return control(name, 'will be handled before the next phase', { text })(io, path, flags);
    const received = length === 0 ? 'nothing' : `${length} characters`;
    return fail(
      'usage',
      `${name}: expected ${expected} in at most ${most} characters, received ${received}.`,
    );
  };
export const drift = report('drift', 'the work missing from the plan');
export const revise = report('revise', 'what to change in the plan');

export const status = (io: Io, path: string, flags: Flags): Promise<void> =>
  withEmend(io, async (opened) => {
    const plan = await findPlan(io, path, flags);
    const view = await reading(opened, async (emend) =>
      showWithPhases(emend, await runOfPlan(emend, plan)),
    );
    printFound(
      { io, flags },
      'plan status',
      view,
      viewLines(view, shownKey(view.stepKey), io.columns),
    );
  });
