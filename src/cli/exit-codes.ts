/** From what became of a run to the exit code: one table, used by every command. */
import { EXIT, PROBLEMS, type ExitCode, type Problem } from '../shared/problems.js';
import type { StepOutcome, StepResult } from '../shared/protocol.js';
import type { ClosedRun } from '../client/types.js';
import type { FollowedPlan } from './follow-plan.js';

const BY_OUTCOME: Record<StepOutcome, ExitCode> = {
  committed: EXIT.done,
  applied: EXIT.done,
  unchanged: EXIT.done,
  skipped: EXIT.done,
  aborted: EXIT.failed,
  refused: EXIT.refused,
  failed: EXIT.failed,
  tests_failed: EXIT.failed,
  completed: EXIT.done,
  incomplete: EXIT.failed,
  stopped: EXIT.done,
};

export const exitOfProblem = ({ code }: Problem): ExitCode => PROBLEMS[code].exit;

/** What went wrong decides over how it ended: a step refused for a missing target is a mistake in the job (2), not a refusal (4). */
export const exitOfResult = ({ outcome, problem }: StepResult): ExitCode => {
  const byOutcome = BY_OUTCOME[outcome];
  return byOutcome === EXIT.done || problem === null ? byOutcome : exitOfProblem(problem);
};

export const exitOfClosed = ({ result }: ClosedRun): ExitCode => (result === null ? EXIT.failed : exitOfResult(result));

/** Of a run or a plan that a command followed until there was nothing more for it to do. */
export const exitOfFollowed = (followed: FollowedPlan): ExitCode => {
  switch (followed.kind) {
    case 'closed':
      return exitOfClosed(followed.closed);
    case 'waiting':
    case 'paused':
      return EXIT.waiting;
    case 'no_worker':
      return EXIT.unavailable;
    case 'interrupted':
      return EXIT.interrupted;
  }
};
