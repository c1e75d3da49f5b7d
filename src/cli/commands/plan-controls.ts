/** `emend plan pause|resume|stop|drift|revise|status`: messages to the open run of a plan, and what that run does. */
import { reading } from '../../client/open.js';
import { loginName } from '../../client/runs/decide.js';
import {
  planRunNamed,
  runOfPlan,
  signalPlan,
  signalPlanRun,
  type PlanFile,
  type PlanMessage,
  type PlanRun,
} from '../../client/runs/plan-runs.js';
import { showWithPhases } from '../../client/runs/show.js';
import { looksLikeWorkflowId } from '../../client/runs/start.js';
import { checkpointOf, planOfPath } from '../../client/runs/start-plan.js';
import type { Emend } from '../../client/types.js';
import type { ResolvedRun } from '../../client/runs/resolve.js';
import { shownKey } from '../../shared/ids.js';
import { BOUNDS } from '../../shared/limits.js';
import type { PLAN_SIGNALS } from '../../shared/names.js';
import { EXIT, fail, nullOn, ProblemError, type ExitCode } from '../../shared/problems.js';
import { shellWord } from '../../shared/text.js';
import { asides, type Io, type JsonFlag, type QuietFlag } from '../io.js';
import { printFound } from '../json.js';
import { viewLines } from '../render/run.js';
import { withEmend } from '../session.js';
import { refuseHalfDone } from './plan-files.js';
import { runPlan, type At } from './plan-run.js';

type Flags = QuietFlag & JsonFlag & At;

/** A plan by its path, or one run of a plan by its workflow id or the digits of its key. */
type Target =
  | { readonly kind: 'plan'; readonly plan: PlanFile }
  | { readonly kind: 'run'; readonly run: ResolvedRun };

/** Returns what the words of the command name. A path is stronger than the name of a run. */
async function targetOf(io: Io, emend: Emend, typed: string, flags: At): Promise<Target> {
  if (looksLikeWorkflowId(typed)) return { kind: 'run', run: await planRunNamed(emend, typed) };
  try {
    return { kind: 'plan', plan: await findPlan(io, typed, flags) };
  } catch (error) {
    if (!(error instanceof ProblemError) || error.problem.code !== 'plan_not_found') throw error;
    const run = await planRunNamed(emend, typed).catch(nullOn('run_unknown', 'no_server'));
    if (run === null) throw error;
    return { kind: 'run', run };
  }
}

/** The run that is open knows the commit that it began at. */
async function findPlan(io: Io, path: string, { repository }: At): Promise<PlanFile> {
  await refuseHalfDone(io, path);
  return planOfPath(io.cwd, path, { repository, base: repository && 'HEAD' });
}

type Control = 'pause' | 'resume' | 'stop' | 'drift' | 'revise';
/** The message `revise` answers a decision, so the signal for the plan has another name. */
const SIGNAL_OF: Readonly<Record<Control, keyof typeof PLAN_SIGNALS>> = {
  pause: 'pause',
  resume: 'resume',
  stop: 'stop',
  drift: 'drift',
  revise: 'replan',
};

/** Sends the message to the open run and returns that run; null: none of the plan is open. */
async function send(
  emend: Emend,
  target: Target,
  control: Control,
  message: PlanMessage,
): Promise<PlanRun | null> {
  const signal = SIGNAL_OF[control];
  if (target.kind === 'plan') return signalPlan(emend, target.plan, signal, message);
  const { live, stepKey } = target.run;
  const run = live?.memo == null ? null : { ...live, memo: live.memo };
  if (run?.open === true && (await signalPlanRun(emend, run, signal, message))) return run;
  const path = run?.memo.jobPath ?? target.run.archived.started?.jobPath ?? 'PLAN';
  return fail(
    'run_unknown',
    `Run ${shownKey(stepKey)} of ${path} has ended.`,
    `To run the plan again, type: emend plan run ${shellWord(path)}`,
  );
}

/** `undo`: what `emend plan resume` does about it. */
const control =
  (
    name: Control,
    effect: string,
    { text, undo }: { readonly text?: string; readonly undo?: string } = {},
  ) =>
  (io: Io, typed: string, flags: Flags): Promise<ExitCode> =>
    withEmend(io, async (emend) => {
      const target = await targetOf(io, emend, typed, flags);
      const message = { by: loginName(), ...(text === undefined ? {} : { text }) };
      const run = await send(emend, target, name, message);
      if (run === null) return noneOpen(target, text);
      const on =
        flags.repository === undefined ? '' : ` --repository ${shellWord(flags.repository)}`;
      const hint =
        undo === undefined ? '' : `; ${undo} with: emend plan resume ${shellWord(typed)}${on}`;
      return report({ io, flags }, run, name, `${effect}${asides(io, flags).after(hint)}`);
    });

const noneOpen = (target: Target, text: string | undefined, more = ''): never => {
  const path = target.kind === 'plan' ? target.plan.planPath : 'PLAN';
  const next = `emend plan run ${path}${text === undefined ? '' : ` --report-scope-drift ${shellWord(text)}`}`;
  return fail('run_unknown', `No run of ${path} is open${more}.`, `Start one with: ${next}`);
};

/** Prints which run the message reached, and its effect. */
const report = (
  to: { readonly io: Io; readonly flags: Flags },
  { memo: { stepKey, jobPath }, workflowId }: PlanRun,
  control: Control,
  effect: string,
): ExitCode => {
  const line = `${jobPath} (run ${shownKey(stepKey)}, workflow ${workflowId}): ${effect}`;
  printFound(to, 'plan pause', { v: 1, stepKey, workflowId, control }, [line]);
  return EXIT.done;
};

export const pause = control('pause', 'will pause before the next phase', { undo: 'continue' });

/** If no run is open, the plan is started where the last one left it. */
export const resume = async (io: Io, typed: string, flags: Flags): Promise<ExitCode> => {
  const resumption = await withEmend(io, async (emend) => {
    const target = await targetOf(io, emend, typed, flags);
    const run = await send(emend, target, 'resume', { by: loginName() });
    if (run !== null) return { run };
    return {
      run,
      target,
      checkpoint: target.kind === 'run' ? null : await checkpointOf(emend, target.plan),
    };
  });
  if (resumption.run !== null) return report({ io, flags }, resumption.run, 'resume', 'continues');
  const { checkpoint, target } = resumption;
  if (checkpoint === null) return noneOpen(target, undefined, ', and none left a checkpoint');
  return runPlan(io, typed, {
    set: [],
    hint: [],
    ...flags,
    ...(checkpoint.base !== undefined && { base: checkpoint.base }),
  });
};
export const stop = control('stop', 'will end after the current phase', { undo: 'cancel' });

/** If no run is open, nobody would take it up: the next run takes it with its start. */
const withText =
  (name: 'drift' | 'revise', expected: string) =>
  (io: Io, typed: string, text: string, flags: Flags): Promise<ExitCode> => {
    const { length } = text.trim();
    const most = BOUNDS.reason_chars;
    if (length > 0 && length <= most)
      return control(name, 'will be handled before the next phase', { text })(io, typed, flags);
    const received = length === 0 ? 'nothing' : `${length} characters`;
    return fail(
      'usage',
      `${name}: expected ${expected} in at most ${most} characters, received ${received}.`,
    );
  };
export const drift = withText('drift', 'the work missing from the plan');
export const revise = withText('revise', 'what to change in the plan');

export const status = (io: Io, typed: string, flags: Flags): Promise<void> =>
  withEmend(io, async (opened) => {
    const view = await reading(opened, async (emend) => {
      const target = await targetOf(io, emend, typed, flags);
      const commandFor = (key: string): string => `emend plan status ${key}`;
      const run =
        target.kind === 'run' ? target.run : await runOfPlan(emend, target.plan, commandFor);
      return showWithPhases(emend, run);
    });
    printFound(
      { io, flags },
      'plan status',
      view,
      viewLines(view, shownKey(view.stepKey), io.columns),
    );
  });
