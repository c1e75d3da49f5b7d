import { decide as sendDecision } from '../../client/decide.js';
import type { DecideResult } from '../../client/decide.js';
import { shownKey } from '../../shared/refs.js';
import { resolveRun } from '../../client/resolve-run.js';
import { ANSWER_MEANS } from '../../shared/decisions.js';
import type { Answer } from '../../shared/decisions.js';
import { EXIT, fail } from '../../shared/problems.js';
import type { ExitCode } from '../../shared/problems.js';
import type { Io } from '../io.js';
import { plain } from '../render/text.js';
import { decisionSettings } from '../settings.js';
import { withEmend } from '../with-emend.js';

export interface DecideFlags {
  readonly decision?: string;
  readonly file: readonly string[];
  readonly note?: string;
  readonly set: readonly string[];
  readonly json?: true;
}

export const decide = (io: Io, run: string, written: string, flags: DecideFlags): Promise<ExitCode> => {
  const answer = answerOf(written);
  const set = decisionSettings(flags.set);
  return withEmend(io, async (emend) => {
    const resolved = await resolveRun(emend, run);
    const result = await sendDecision(emend, resolved, {
      answer,
      files: flags.file.map((path) => path.replace(/^\.\//, '')),
      set,
      ...(flags.decision === undefined ? {} : { decision: flags.decision }),
      ...(flags.note === undefined ? {} : { note: flags.note }),
    });
    io.out(flags.json === true ? JSON.stringify(result) : sentence(result, shownKey(resolved.stepKey)));
    return EXIT.done;
  });
};

/** Answers may be typed with `-` for `_`. */
const answerOf = (written: string): Answer => {
  const word = written.trim().toLowerCase().replaceAll('-', '_');
  const known = Object.keys(ANSWER_MEANS) as Answer[];
  return (
    known.find((answer) => answer === word) ??
    fail(
      'usage',
      `"${written.slice(0, 40)}" is no answer; answers are ${known.join(', ')}.`,
      'See `emend show RUN` for those that its decision takes.',
    )
  );
};

const sentence = (result: DecideResult, run: string): string => `${run}  ${plain(result.message)}`;
