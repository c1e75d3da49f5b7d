/** `emend plan run`: starts a plan (or joins its open run), shows it with its phases, asks, and says how it ended. */
import {
  type PlanFile,
  planOfPath,
  startPlan,
  lastCheckpointed,
  runOfPlan,
  tellPlan,
} from '../../client/runs/start-plan.js';
import type { StartedStep } from '../../client/runs/start.js';
import type { Emend } from '../../client/types.js';
import { fail, type ExitCode, EXIT } from '../../shared/problems.js';
import { shownKey } from '../../shared/ids.js';
import { begun, followPlan, type FollowedPlan } from '../follow-plan.js';
import { exitOfFollowed } from '../errors.js';
import { refuseHalfDone } from './plan-files.js';
import { type Io, type QuietFlag, foldOf, asides } from '../io.js';
import { printJson } from '../json.js';
import { decisionLines } from '../render/decision.js';
import { plain } from '../render/text.js';
import { resultLines, viewLines } from '../render/run.js';
import { runLimits, withEmend } from '../session.js';
import { withRunning } from '../services.js';
import { loginName } from '../../client/runs/decide.js';
import { showWithPhases } from '../../client/runs/show.js';
import { reading } from '../../client/open.js';

export interface PlanRunFlags extends QuietFlag {
  readonly phase?: string;
  readonly sequential?: true;
  readonly waves?: true;
  readonly auto?: true;
  readonly forceReplan?: true;
  readonly reportScopeDrift?: string;
  readonly restart?: true;
  readonly dev?: true;
  readonly wait?: true;
  readonly yes?: true;
  readonly set: readonly string[];
  readonly hint: readonly string[];
  readonly json?: true;
}

export const runPlan = async (io: Io, path: string, flags: PlanRunFlags): Promise<ExitCode> => {
  const overrides = runLimits(flags.set);
  const phase = phaseOf(flags.phase);
  await refuseHalfDone(io, path);
  const plan = await planOfPath(io.cwd, path);
  return withRunning(io, flags, async (emend, signal) => {
    const step = await startPlan(emend, {
      plan,
      overrides,
      hints: flags.hint,
      ...(flags.auto === true ? { approval: 'auto' as const } : {}),
      options: {
        phase,
        mode: flags.sequential === true ? 'sequential' : flags.waves === true ? 'waves' : 'auto',
        forceReplan: flags.forceReplan === true,
        drift: flags.reportScopeDrift ?? null,
        estimate: flags.yes === true ? 'approved' : 'ask',
        ...(flags.restart === true ? { restart: true } : {}),
      },
    });
    return follow(io, emend, plan, step, flags, signal);
  });
};

const phaseOf = (written: string | undefined): number | null => {
  if (written === undefined) return null;
  if (/^\d{1,4}$/.test(written)) return Number(written);
  return fail('usage', `--phase: expected the number of a phase, received ${JSON.stringify(written)}.`);
};

const follow = async (
  io: Io,
  emend: Emend,
  plan: PlanFile,
  step: StartedStep,
  flags: PlanRunFlags,
  signal: AbortSignal,
): Promise<ExitCode> => {
  const { resolved, shown, link, options } = await begun(io, emend, step, flags, {
    title: plan.title,
    runsAlready: 'This plan is running already; here it is.',
  });
  const followed = await followPlan(io, emend, resolved, { ...options, live: false, signal });
  const exit = exitOfFollowed(followed);
  if (flags.json === true) printJson(io, 'plan run', { v: 1, ...step, link, ...followed, exit });
  else tell(io, shown, followed);
  return exit;
};

const tell = (io: Io, shown: string, followed: FollowedPlan): void => {
  switch (followed.kind) {
    case 'closed': {
      const { result, status, message } = followed.closed;
      if (result !== null) for (const text of resultLines(result, shown)) io.out(text);
      else
        io.err(`${shown}  ${status.toLowerCase()}: ${plain(message ?? 'no reason given')}\n  See: emend show ${shown}`);
      return;
    }
    case 'waiting': {
      const { decision, stepKey } = followed.status;
      if (decision !== null)
        for (const text of decisionLines(shownKey(stepKey), decision, { width: io.columns })) io.out(text);
      return;
    }
    case 'paused':
      io.out(`${shown} is paused before the next phase. Go on with: emend plan resume PLAN`);
      return;
    case 'no_worker':
      io.err(
        `The run ${shown} is started and goes on as soon as a worker is there; emend show ${shown} tells how it is.`,
      );
      return;
    case 'interrupted':
      io.err(`\n${shown} goes on without this terminal. See: emend show ${shown}`);
  }
};

// `emend plan pause|resume|stop|status`: a person's wishes to the open run of a plan, and what it does.

interface Flags extends QuietFlag {
  readonly json?: true;
}

type Wish = 'pause' | 'resume' | 'stop' | 'drift';
interface Said {
  readonly what: string;
  readonly hint?: string;
}

const wish =
  (name: Wish, said: Said, text?: string) =>
  (io: Io, path: string, flags: Flags): Promise<ExitCode> =>
    withEmend(io, async (emend) => {
      await refuseHalfDone(io, path);
      const plan = await planOfPath(io.cwd, path);
      return (await tellPlan(emend, plan, name, loginName(), text))
        ? told(io, plan, name, said, flags)
        : noneOpen(plan);
    });

const noneOpen = ({ planPath }: PlanFile, more = ''): never =>
  fail('run_unknown', `No run of ${planPath} is open${more}.`, `Start one with: emend plan run ${planPath}`);

const told = (io: Io, plan: PlanFile, name: Wish, { what, hint = '' }: Said, flags: Flags): ExitCode => {
  if (flags.json === true) printJson(io, 'plan pause', { v: 1, workflowId: plan.workflowId, wish: name });
  else io.out(`${plan.planPath}: ${what}${asides(io, flags).after(hint)}`);
  return EXIT.done;
};

export const pause = wish('pause', { what: 'pauses before the next phase', hint: '; emend plan resume goes on' });

/** Where no run is open the plan is started where the last one left it. */
export const resume = async (io: Io, path: string, flags: Flags): Promise<ExitCode> => {
  await refuseHalfDone(io, path);
  const plan = await planOfPath(io.cwd, path);
  const isLeft = await withEmend(io, async (emend) =>
    (await tellPlan(emend, plan, 'resume', loginName())) ? null : (await lastCheckpointed(emend, plan)) !== null,
  );
  if (isLeft === null) return told(io, plan, 'resume', { what: 'goes on' }, flags);
  if (!isLeft) return noneOpen(plan, ', and none has left a checkpoint');
  return runPlan(io, path, { set: [], hint: [], ...flags });
};
export const stop = wish('stop', {
  what: 'ends when the phase that is under way is done',
  hint: '; emend plan resume takes it back',
});

export const drift = (io: Io, path: string, text: string, flags: Flags): Promise<ExitCode> =>
  text.trim() === ''
    ? fail('usage', 'drift: expected what the plan does not hold, received nothing.')
    : wish('drift', { what: 'is taken up before the next phase' }, text)(io, path, flags);

export const status = (io: Io, path: string, flags: Flags): Promise<ExitCode> =>
  withEmend(io, async (opened) => {
    await refuseHalfDone(io, path);
    const plan = await planOfPath(io.cwd, path);
    const view = await reading(opened, async (emend) => showWithPhases(emend, await runOfPlan(emend, plan)));
    if (flags.json === true) printJson(io, 'plan status', view);
    else io.out(viewLines(view, shownKey(view.stepKey), io.columns, foldOf(io)).join('\n'));
    return EXIT.done;
  });
