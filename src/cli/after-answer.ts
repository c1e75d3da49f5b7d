/** The end of a command that sent an answer: in a terminal it follows the run, else it names what still runs and the command that waits. */
import type { DecideResult } from '../client/runs/decide.js';
import { refreshRun, type ResolvedRun } from '../client/runs/resolve.js';
import { showRun } from '../client/runs/show.js';
import type { Answer } from '../shared/decisions.js';
import { shownKey } from '../shared/ids.js';
import { EXIT, type ExitCode } from '../shared/problems.js';
import { tellEnd } from './begin-end.js';
import { exitOfFollowed } from './errors.js';
import { followPlan } from './follow-run.js';
import type { JsonFlag } from './io.js';
import { plain } from './render/text.js';
import { interruptible, type Session } from './session.js';

export interface AfterFlags extends JsonFlag {
  /** False: `--no-wait`. */
  readonly wait?: boolean;
}

/** The place of a run before an answer is sent: only what comes later is printed. */
export interface Before {
  readonly seq: number;
  readonly workspace: string;
  /** The decision that is answered; null: `abort` names none. */
  readonly decision: string | null;
}

/** Returns the place of the run. Null: the command will not follow it, so it need not wait for the run's worker. */
export const beforeAnswer = async (
  { io, emend, flags }: Session<AfterFlags>,
  run: ResolvedRun,
  answer: Answer,
  decision: string | null,
): Promise<Before | null> => {
  const mayFollow = io.isTty && flags.json !== true && flags.wait !== false && answer !== 'abort';
  if (!mayFollow) return null;
  const { status } = await showRun(emend, run, { full: false });
  return { seq: status.lastSeq, workspace: status.workspace, decision };
};

/**
 * Follows the run in a terminal, and returns the exit code that `emend run` would have. Without a terminal, with `--no-wait` and after `abort`
 * it returns the code of the answer, which counts.
 */
export const afterAnswer = async (
  session: Session<AfterFlags>,
  run: ResolvedRun,
  { result, before }: { readonly result: DecideResult; readonly before: Before | null },
): Promise<ExitCode> => {
  if (session.flags.json === true) return EXIT.done;
  // If no worker took the answer, nothing follows before one starts. The message of the answer reports that.
  const isTaken = result.via === 'update';
  if (before !== null && isTaken) return follow(session, run, { result, before });
  if (isTaken) await tellWhatRuns(session, run);
  return EXIT.done;
};

const follow = (
  session: Session<AfterFlags>,
  run: ResolvedRun,
  { result, before }: { readonly result: DecideResult; readonly before: Before },
): Promise<ExitCode> =>
  interruptible(session.io, async (signal) => {
    const { seq, workspace, decision: answered } = before;
    // If other files of the decision still need an answer, the question comes again for them.
    const decision = result.outcome === 'recorded' ? null : answered;
    const followed = await followPlan(session, await refreshRun(session.emend, run), {
      interactive: true,
      wait: false,
      yes: false,
      shows: 'progress',
      live: false,
      needWorker: false,
      signal,
      after: { seq, decision },
    });
    await tellEnd({ ...session, flags: {} }, { shown: shownKey(run.stepKey), workspace }, followed);
    return exitOfFollowed(followed);
  });

const tellWhatRuns = async (
  { io, emend }: Session<AfterFlags>,
  run: ResolvedRun,
): Promise<void> => {
  const shown = shownKey(run.stepKey);
  const { status } = await showRun(emend, await refreshRun(emend, run), { full: false });
  if (status.result !== null)
    io.err(`Run ${shown} has ended: ${status.result.outcome}. See: emend show ${shown}`);
  else if (status.decision !== null)
    io.err(
      `Run ${shown} waits for an answer (${status.decision.reason}). See: emend show ${shown}`,
    );
  else
    io.err(
      plain(`Run ${shown} is not done: ${status.doing}. To wait for its end: emend watch ${shown}`),
    );
};
