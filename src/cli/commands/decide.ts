import { decide as sendDecision } from '../../client/decide.js';
import type { DecideResult } from '../../client/decide.js';
import { shownKey } from '../../shared/refs.js';
import type { DecideOptions } from '../../client/decide.js';
import { resolveRun } from '../../client/resolve-run.js';
import type { ResolvedRun } from '../../client/resolve-run.js';
import { diffText, showRun } from '../../client/show-run.js';
import type { Emend } from '../../client/types.js';
import { ANSWER_MEANS } from '../../shared/decisions.js';
import type { Answer } from '../../shared/decisions.js';
import { nearestWord } from '../../job/words.js';
import { EXIT, fail } from '../../shared/problems.js';
import type { ExitCode } from '../../shared/problems.js';
import type { Io } from '../io.js';
import { jsonText } from '../json.js';
import { plain } from '../render/text.js';
import { decisionSettings } from '../settings.js';
import { hunkSelection } from '../review/hunk-flags.js';
import { withEmend } from '../with-emend.js';

export interface DecideFlags {
  readonly decision?: string;
  readonly file: readonly string[];
  readonly note?: string;
  readonly set: readonly string[];
  readonly hunk?: readonly string[];
  readonly json?: true;
}

export const decide = (io: Io, run: string, written: string, flags: DecideFlags): Promise<ExitCode> => {
  const answer = answerOf(written);
  const set = decisionSettings(flags.set);
  return withEmend(io, async (emend) => {
    const resolved = await resolveRun(emend, run);
    const part = (flags.hunk ?? []).length === 0 ? {} : await partOf(emend, resolved, answer, flags);
    const result = await sendDecision(emend, resolved, {
      answer,
      files: flags.file.map((path) => path.replace(/^\.\//, '')),
      set,
      ...(flags.decision === undefined ? {} : { decision: flags.decision }),
      ...part,
      ...(flags.note === undefined ? {} : { note: flags.note }),
    });
    io.out(flags.json === true ? jsonText('decide', result) : sentence(result, shownKey(resolved.stepKey)));
    return EXIT.done;
  });
};

/** The changes in the hunks that were named, of the proposal that is open; its decision is named with them. */
const partOf = async (
  emend: Emend,
  run: ResolvedRun,
  answer: Answer,
  { hunk = [], file }: DecideFlags,
): Promise<Pick<DecideOptions, 'decision' | 'select'>> => {
  if (answer !== 'select' || file.length > 0)
    return fail('usage', '--hunk goes with the answer select, and without --file.');
  const { proposal, status, note } = await showRun(emend, run);
  if (proposal === null || status.decision?.proposalId !== proposal.id)
    return fail(
      'answer_not_accepted',
      `Run ${shownKey(run.stepKey)} has no open proposal to choose from.${note === null ? '' : ` ${note}`}`,
    );
  return { decision: status.decision.id, select: hunkSelection(hunk, await diffText(emend, proposal)) };
};

/** Answers may be typed with `-` for `_`. */
const answerOf = (written: string): Answer => {
  const word = written.trim().toLowerCase().replaceAll('-', '_');
  const known = Object.keys(ANSWER_MEANS) as Answer[];
  const nearest = nearestWord(word, known);
  return (
    known.find((answer) => answer === word) ??
    fail(
      'usage',
      `"${written.slice(0, 40)}" is no answer; ${nearest === null ? `answers are ${known.join(', ')}.` : `did you mean ${nearest}?`}`,
      'See `emend show RUN` for those that its decision takes.',
    )
  );
};

const sentence = (result: DecideResult, run: string): string => `${run}  ${plain(result.message)}`;
