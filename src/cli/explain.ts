/** Turns whatever was thrown into sentences with the next step, and an exit code. A stack trace only with EMEND_DEBUG. */
import { EXIT, problem, ProblemError, PROBLEMS, type ExitCode, type Problem } from '../shared/problems.js';
import { exitOfProblem } from './exit-codes.js';
import type { Io } from './io.js';
import { jsonText } from './json.js';
import { redact } from '../workspace/runner-env.js';
import { plain } from './render/text.js';

export interface Explained {
  readonly problems: readonly [Problem, ...Problem[]];
  readonly exit: ExitCode;
}

export const explain = (error: unknown): Explained => {
  if (error instanceof ProblemError) {
    const problems = severalOf(error) ?? [error.problem];
    return { problems, exit: exitOfProblem(problems[0]) };
  }
  const message = error instanceof Error ? error.message : String(error);
  const first = message.split('\n')[0] ?? '';
  const code = (error as NodeJS.ErrnoException | null)?.code;
  const onDisk = typeof code === 'string' && /^E[A-Z]+$/.test(code);
  return onDisk
    ? { problems: [problem('disk', first)], exit: EXIT.failed }
    : {
        problems: [
          problem(
            'internal',
            `Something unexpected went wrong: ${first}`,
            'Run it again with EMEND_DEBUG=1 to see where.',
          ),
        ],
        exit: EXIT.failed,
      };
};

/** Job errors come all at once (ProblemsError); known by its shape, so that this file loads no job reader. */
const severalOf = (error: ProblemError): readonly [Problem, ...Problem[]] | null => {
  const { problems } = error as { problems?: readonly Problem[] };
  const [first, ...others] = problems ?? [];
  return first === undefined ? null : [first, ...others];
};

/** Each problem in a line; the next step once where all share it. */
export const explanation = ({ problems }: Explained): string => {
  const nextOf = ({ code, next }: Problem): string => next ?? PROBLEMS[code].hint;
  const lines: string[] = [];
  problems.forEach((each, index) => {
    lines.push(`emend: ${plain(each.message)}`);
    const following = problems[index + 1];
    if (following === undefined || nextOf(following) !== nextOf(each)) lines.push(`  ${plain(nextOf(each))}`);
  });
  return lines.join('\n');
};

/** Prints and returns the exit code. With `--json` stdout gets `{"error": …}` as well. */
export const reportError = (io: Io, error: unknown, json: boolean): ExitCode => {
  const explained = explain(error);
  const show = (text: string): string => redact(text, io.env);
  io.err(show(explanation(explained)));
  if (json)
    io.out(
      show(
        jsonText('error', { error: { ...explained.problems[0], problems: explained.problems }, exit: explained.exit }),
      ),
    );
  if ((io.env.EMEND_DEBUG ?? '') !== '' && error instanceof Error && error.stack !== undefined)
    io.err(show(error.stack));
  return explained.exit;
};
