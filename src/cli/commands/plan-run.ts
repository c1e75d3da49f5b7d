/** `emend plan run`: starts a plan (or joins its open run), shows it with its phases, asks, and says how it ended. */
import type { PlanFile } from '../../client/plan-runs.js';
import { planOfPath, startPlan } from '../../client/start-plan.js';
import type { StartedStep } from '../../client/start-step.js';
import type { Emend } from '../../client/types.js';
import { fail, type ExitCode } from '../../shared/problems.js';
import { shownKey } from '../../shared/refs.js';
import { begun } from '../begun.js';
import { exitOfFollowed } from '../exit-codes.js';
import { followPlan, type FollowedPlan } from '../follow-plan.js';
import { refuseHalfDone } from '../half-done.js';
import type { Io } from '../io.js';
import { printJson } from '../json.js';
import type { QuietFlag } from '../quiet.js';
import { decisionLines } from '../render/decision.js';
import { plain } from '../render/text.js';
import { resultLines } from '../render/view.js';
import { runLimits } from '../settings.js';
import { withRunning } from '../start-missing.js';

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
