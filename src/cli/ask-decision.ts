/** Shows the open decision of a run in the terminal, asks, and sends the answer. */
import { decide } from '../client/runs/decide.js';
import type { ResolvedRun } from '../client/runs/resolve.js';
import { diffText, showRun } from '../client/runs/show.js';
import { untilStatus } from '../client/runs/watch.js';
import type { DecisionPoint } from '../shared/decisions.js';
import { ProblemError } from '../shared/problems.js';
import type { StepStatus } from '../shared/run.js';
import { chooseAnswer, type Choice } from './choose-answer.js';
import { menuLines, type Question } from './decision-menu.js';
import { placeSettings } from './move-place.js';
import { decisionHead } from './render/decision.js';
import { plain, printDiff } from './render/text.js';
import { askReview } from './review/ask.js';
import { loadReview } from './review/text.js';
import type { Session } from './session.js';

/** `answered`: it counts or is on its way; `again`: some files are still open; `changed`: somebody else answered; `left`: it waits on. */
export type Asked = 'answered' | 'again' | 'changed' | 'left';

export const askDecision = async (
  session: Session,
  run: ResolvedRun,
  decision: DecisionPoint,
  signal: AbortSignal,
): Promise<Asked> => {
  const { io, emend } = session;
  const { proposal: newest, status } = await showRun(emend, run);
  // Read a moment later, the proposal may be a newer one: that is another decision's.
  const proposal = newest?.id === decision.proposalId ? newest : null;
  const asking: Asking = { session, run, question: { decision, proposal }, dir: status.workspace };
  await showQuestion(asking);
  const done = new AbortController();
  const changed = new AbortController();
  /** Or none is open any more. */
  const isOther = ({ decision: open }: StepStatus): boolean => open?.id !== decision.id;
  const watching = untilStatus(emend, run, isOther, {
    signal: AbortSignal.any([done.signal, signal]),
  }).then(
    (seen) => {
      if (seen !== 'over') changed.abort();
    },
    // A server that went away shows at the next call; the question stays open.
    () => undefined,
  );
  const until = AbortSignal.any([signal, changed.signal]);
  try {
    for (;;) {
      const choice = await chooseAnswer(
        { io, signal: until, placeSettings: (place) => placeSettings(emend, io, place) },
        asking.question,
      );
      if (choice === null) {
        if (changed.signal.aborted) io.out('\nSomeone else answered this decision.');
        return changed.signal.aborted ? 'changed' : 'left';
      }
      const outcome = await carryOut(asking, choice, until);
      if (outcome !== null) return outcome;
    }
  } finally {
    done.abort();
    await watching;
  }
};

interface Asking {
  readonly session: Session;
  readonly run: ResolvedRun;
  readonly question: Question;
  /** The workspace, whose git configuration counts. */
  readonly dir: string;
}

/** Prints the change first, as a pager may take the screen, and the question below it. */
const showQuestion = async (asking: Asking): Promise<void> => {
  const { io } = asking.session;
  const { decision, proposal } = asking.question;
  await showDiff(asking);
  const head = decisionHead(decision, { width: io.columns, proposal });
  for (const text of ['', ...head, '', ...menuLines(asking.question, io.columns)]) io.out(text);
};

const showDiff = async ({ session, question, dir }: Asking): Promise<void> => {
  const { io, emend } = session;
  if (question.proposal !== null)
    await printDiff(io, await diffText(emend, question.proposal), dir);
};

/** Null: the question is still open. */
const carryOut = async (
  asking: Asking,
  choice: Choice,
  signal: AbortSignal,
): Promise<Asked | null> => {
  switch (choice.kind) {
    case 'quit':
      return 'left';
    case 'diff':
      await showDiff(asking);
      return null;
    case 'hunks':
      return review(asking, signal);
    case 'answer':
      return send(asking, choice);
  }
};

const review = async (
  { session, run, question, dir }: Asking,
  signal: AbortSignal,
): Promise<Asked | null> => {
  const { decision, proposal } = question;
  if (proposal === null) return null;
  const loaded = await loadReview(session.emend, decision, proposal, new Set());
  const reviewed = await askReview(session, run, loaded, { dir, signal });
  if (reviewed === 'part') return 'again';
  return typeof reviewed === 'string' ? null : 'answered';
};

/** Sends the answer. Null: it was refused, and the question is still open. */
const send = async (
  { session: { io, emend }, run, question: { decision } }: Asking,
  { answer, files, note, set }: Extract<Choice, { readonly kind: 'answer' }>,
): Promise<Asked | null> => {
  try {
    const result = await decide(emend, run, {
      decision: decision.id,
      answer,
      files,
      ...(note === undefined ? {} : { note }),
      ...(set === undefined ? {} : { set }),
      sign: decision.mustSign === true,
    });
    io.out(plain(result.message));
    return result.outcome === 'recorded' ? 'again' : 'answered';
  } catch (error) {
    if (!(error instanceof ProblemError) || error.problem.code === 'no_server') throw error;
    io.out(plain(error.problem.message));
    return null;
  }
};
