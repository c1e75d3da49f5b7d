import {
  decide as sendDecision,
  needParts,
  openDecision,
  type DecideOptions,
} from '../../client/runs/decide.js';
import { shownKey } from '../../shared/ids.js';
import { resolveRun, type ResolvedRun } from '../../client/runs/resolve.js';
import { diffText, showRun } from '../../client/runs/show.js';
import { ANSWER_MEANS, type Answer } from '../../shared/decisions.js';
import { EXIT, fail, type ExitCode } from '../../shared/problems.js';
import { urlFault } from '../../shared/repository.js';
import type { Emend } from '../../client/types.js';
import { inPlaceOf, shellWord } from '../../shared/text.js';
import { afterAnswer, beforeAnswer, type AfterFlags } from '../after-answer.js';
import type { Io } from '../io.js';
import { printFound } from '../json.js';
import { commandFor, decisionHead } from '../render/decision.js';
import { plain, printDiff } from '../render/text.js';
import { decisionSettings, interruptible, type Session, withEmend } from '../session.js';
import { hunkSelection } from '../review/text.js';

export interface DecideFlags extends AfterFlags {
  readonly decision?: string;
  readonly file: readonly string[];
  readonly note?: string;
  readonly set: readonly string[];
  readonly hunk?: readonly string[];
  readonly yes?: true;
}

export const decide = async (
  io: Io,
  run: string,
  written: string,
  flags: DecideFlags,
): Promise<ExitCode> => {
  const answer = answerOf(written);
  const { hunk = [] } = flags;
  if (hunk.length > 0 && (answer !== 'select' || flags.file.length > 0))
    return fail('usage', '--hunk requires the answer select and excludes --file.');
  const set = await decisionSettings(flags.set);
  const exit = await withEmend(io, async (emend) => {
    const resolved = await resolveRun(emend, run);
    if (answer === 'revise' && flags.decision === undefined && (await isPushed(emend, resolved)))
      return null;
    // Only the command `revise` has `--wait`. For the others `wait` is true without `--no-wait`.
    if (flags.yes === true || (answer === 'revise' && flags.wait === true))
      fail(
        'usage',
        '--wait and --yes are for the run that follows one.',
        'Add --from-pr, or omit them.',
      );
    const given = {
      answer,
      files: flags.file.map((path) => path.replace(/^\.\//, '')),
      set,
      ...(flags.note === undefined ? {} : { note: flags.note }),
    };
    const seen = await seenDecision({ io, emend, flags }, resolved, given);
    if (typeof seen === 'number') return seen;
    const decision = seen?.decision ?? null;
    const before = await beforeAnswer({ io, emend, flags }, resolved, answer, decision);
    const result = await sendDecision(emend, resolved, {
      ...given,
      ...seen,
      ...(hunk.length === 0 ? {} : { select: await partOf(emend, hunk, resolved, decision) }),
    });
    printFound({ io, flags }, 'decide', result, [
      `${shownKey(resolved.stepKey)}  ${plain(result.message)}`,
    ]);
    return afterAnswer({ io, emend, flags }, resolved, { result, before });
  });
  return (
    exit ??
    (await import('./from-pr.js')).reviseEnded(io, run, {
      ...flags,
      note: flags.note ?? '',
    })
  );
};

/** Its commit is on a branch of a repository: what follows it needs no workspace. */
const isPushed = async (emend: Emend, run: ResolvedRun): Promise<boolean> => {
  const { workspace, result } = (await showRun(emend, run, { full: false })).status;
  return urlFault(workspace) === null && result?.commit != null;
};

/** The decision that the sender saw. */
type SeenDecision = Pick<DecideOptions, 'sign'> & Required<Pick<DecideOptions, 'decision'>>;

/** Returns the decision that is answered, null for `abort`, or the exit code if the sender declines to answer. */
const seenDecision = (
  session: Session<DecideFlags>,
  run: ResolvedRun,
  given: DecideOptions,
): Promise<SeenDecision | ExitCode | null> | SeenDecision | null => {
  const { decision } = session.flags;
  if (decision !== undefined) return { decision };
  return given.answer === 'abort' ? null : lookedAt(session, run, given);
};

/**
 * An answer counts for the decision that its sender looked at. A sender who names none is shown the open decision and asked. Without a
 * terminal, the command prints what to type. Returns the exit code if the sender declines.
 */
const lookedAt = async (
  { io, emend, flags }: Session<DecideFlags>,
  run: ResolvedRun,
  given: DecideOptions,
): Promise<SeenDecision | ExitCode | null> => {
  const { answer } = given;
  const decision = await openDecision(emend, run, given);
  if (decision === null) return null;
  if (typeof decision === 'string') return { decision, sign: false };
  if (!io.isTty || flags.json === true)
    return fail(
      'usage',
      `\`${answer}\` needs the id of the decision you saw; the open one is ${decision.id} (${decision.reason}).`,
      `Type: ${commandFor(shownKey(run.stepKey), decision, answer, givenText(flags))}`,
    );
  needParts((flags.hunk ?? []).length === 0 ? given : { ...given, select: {} });
  const { proposal, status } = await showRun(emend, run);
  const shown = proposal?.id === decision.proposalId ? proposal : null;
  const applies = ['approve', 'keep'].includes(answer) && decision.proposalId !== null;
  if (applies && shown === null)
    return fail('answer_not_accepted', 'Cannot show the proposal of this decision.', 'Try again.');
  for (const text of decisionHead(decision, { width: io.columns, proposal: shown })) io.out(text);
  // What is applied was seen: not its name, the change itself.
  if (applies && shown !== null)
    await printDiff(io, await diffText(emend, shown), status.workspace);
  const { typed, isInterrupted } = await interruptible(io, async (signal) => ({
    typed: await io.key(`${answer}? [y/N] `, signal),
    isInterrupted: signal.aborted,
  }));
  if (/^y(es)?$/i.test(typed?.trim() ?? ''))
    return { decision: decision.id, sign: decision.mustSign === true };
  io.out('Nothing was sent.');
  return isInterrupted ? EXIT.interrupted : EXIT.waiting;
};

/** What was typed beside run and answer; undefined: nothing. */
const givenText = ({ file, note, set, hunk = [], json }: DecideFlags): string | undefined => {
  const given = [
    ...file.map((path) => ['--file', path]),
    ...(note === undefined ? [] : [['--note', note]]),
    ...set.map((setting) => ['--set', setting]),
    ...hunk.map((number) => ['--hunk', number]),
  ].map(
    ([name = '', value = '']) =>
      ` ${name} ${/^[\w./:=,-]+$/.test(value) ? value : shellWord(value)}`,
  );
  return given.length === 0 ? undefined : `${given.join('')}${json === true ? ' --json' : ''}`;
};

/** The changes in the hunks that were named, of the proposal that the decision is about. */
const partOf = async (
  emend: Emend,
  hunk: readonly string[],
  run: ResolvedRun,
  decision: string | null,
): Promise<NonNullable<DecideOptions['select']>> => {
  const { proposal, status, note } = await showRun(emend, run);
  if (
    proposal === null ||
    status.decision?.proposalId !== proposal.id ||
    status.decision.id !== decision
  )
    return fail(
      'answer_not_accepted',
      `Run ${shownKey(run.stepKey)} has no open proposal for this decision.${note === null ? '' : ` ${note}`}`,
    );
  return hunkSelection(hunk, await diffText(emend, proposal));
};

/** Answers may be typed with `-` for `_`. */
const answerOf = (written: string): Answer => {
  const word = written.trim().toLowerCase().replaceAll('-', '_');
  const known = Object.keys(ANSWER_MEANS) as Answer[];
  return (
    known.find((answer) => answer === word) ??
    fail(
      'usage',
      `"${written.slice(0, 40)}" is not an answer; ${inPlaceOf(word, known)}`,
      '`emend show RUN` lists the answers that its decision accepts.',
    )
  );
};
