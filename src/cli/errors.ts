/** Turns whatever was thrown into sentences with the next step, and an exit code. A stack trace only with EMEND_DEBUG. */
import {
  EXIT,
  PROBLEMS,
  type ExitCode,
  type Problem,
  problem,
  ProblemError,
  ProblemsError,
} from '../shared/problems.js';
import { withoutTokens } from '../shared/tokens.js';
import type { StepOutcome, StepResult } from '../shared/run.js';
import type { ClosedRun } from '../client/types.js';
import type { FollowedPlan } from './follow-run.js';
import type { Io } from './io.js';
import { jsonText } from './json.js';
import { nextAfter } from '../system/durable.js';
import { redact } from '../system/environment.js';
import { plain } from './render/text.js';

// From what became of a run to the exit code: one table, used by every command.

const { done, failed, refused, waiting, unavailable, interrupted } = EXIT;
const BY_OUTCOME: Record<StepOutcome, ExitCode> = {
  committed: done,
  applied: done,
  unchanged: done,
  skipped: done,
  completed: done,
  stopped: done,
  refused,
  aborted: failed,
  failed,
  tests_failed: failed,
  incomplete: failed,
};
const BY_STOP = { waiting, paused: waiting, no_worker: unavailable, interrupted } as const;

const exitOfProblem = ({ code }: Problem): ExitCode => PROBLEMS[code].exit;

/** What went wrong decides over how it ended: a step refused for a missing target is a mistake in the job (2), not a refusal (4). */
export const exitOfResult = ({ outcome, problem }: StepResult): ExitCode => {
  const byOutcome = BY_OUTCOME[outcome];
  return byOutcome === done || problem === null ? byOutcome : exitOfProblem(problem);
};

export const exitOfClosed = ({ result }: ClosedRun): ExitCode =>
  result === null ? failed : exitOfResult(result);

/** Of a run or a plan that a command followed until there was nothing more for it to do. */
export const exitOfFollowed = (followed: FollowedPlan): ExitCode =>
  followed.kind === 'closed' ? exitOfClosed(followed.closed) : BY_STOP[followed.kind];

export interface Explained {
  readonly problems: readonly [Problem, ...Problem[]];
  readonly exit: ExitCode;
}

export const explain = (error: unknown): Explained => {
  if (error instanceof ProblemError) {
    const problems = error instanceof ProblemsError ? error.problems : ([error.problem] as const);
    return { problems, exit: exitOfProblem(problems[0]) };
  }
  const message = error instanceof Error ? error.message : String(error);
  const first = message.split('\n')[0] ?? '';
  const code = (error as NodeJS.ErrnoException | null)?.code;
  const onDisk = typeof code === 'string' && /^E[A-Z]+$/.test(code);
  const found = onDisk
    ? problem('disk', first, nextAfter(code))
    : problem(
        'internal',
        `Unexpected error: ${first}`,
        'Run again with EMEND_DEBUG=1 for details.',
      );
  return { problems: [found], exit: failed };
};

/** Each problem in a line; the next step once where all share it. `command`: whose help has the flags. */
export const explanation = ({ problems }: Explained, command = ''): string => {
  const nextOf = ({ code, next }: Problem): string =>
    next ??
    (code === 'usage' && command !== '' ? `See \`emend help ${command}\`.` : PROBLEMS[code].hint);
  const lines: string[] = [];
  problems.forEach((each, index) => {
    lines.push(`emend: ${plain(each.message)}`);
    const following = problems[index + 1];
    if (following === undefined || nextOf(following) !== nextOf(each))
      lines.push(`  ${plain(nextOf(each))}`);
  });
  return lines.join('\n');
};

/** Prints and returns the exit code. With `--json` stdout gets `{"error": …}` as well. */
export const reportError = (io: Io, error: unknown, json: boolean, command = ''): ExitCode => {
  const explained = explain(error);
  const { problems, exit } = explained;
  const show = (text: string): string => withoutTokens(redact(text, io.env));
  io.err(show(explanation(explained, command)));
  if (json) io.out(show(jsonText('error', { error: { ...problems[0], problems }, exit })));
  if ((io.env.EMEND_DEBUG ?? '') !== '' && error instanceof Error && error.stack !== undefined)
    io.err(show(error.stack));
  return exit;
};
