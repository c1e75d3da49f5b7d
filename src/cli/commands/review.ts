/** `emend review`: goes through a proposal hunk by hunk; other decisions are asked as `emend run` does. */
import { noDecision } from '../../client/runs/decide.js';
import { listRuns } from '../../client/runs/list.js';
import { needRuns, type Emend } from '../../client/types.js';
import { instructionsOf } from '../../client/runs/proposal.js';
import { refreshRun, resolveRun, type ResolvedRun } from '../../client/runs/resolve.js';
import { showRun, type RunView } from '../../client/runs/show.js';
import { untilStatus } from '../../client/runs/watch.js';
import type { StepStatus } from '../../shared/run.js';
import { EXIT, fail, type ExitCode } from '../../shared/problems.js';
import { shownKey } from '../../shared/ids.js';
import { askDecision } from '../ask-decision.js';
import { type Io, asides, type QuietFlag } from '../io.js';
import { decisionHead, decisionLines } from '../render/decision.js';
import { plain } from '../render/text.js';
import { askReview } from '../review/ask.js';
import { loadReview } from '../review/text.js';
import { interruptible, type Session, withEmend } from '../session.js';

const REVIEW_BUILD_MS = 60_000; // bound: A selection is built in a moment; this long `emend review` waits to show it.

export const review = (io: Io, run: string | undefined, flags: QuietFlag): Promise<ExitCode> =>
  withEmend(io, (emend) =>
    interruptible(io, async (signal) => {
      const session = { io, emend, flags };
      const resolved = await resolveRun(emend, run ?? (await onlyWaiting(emend)));
      return io.isTty ? inTerminal(session, resolved, signal) : printed(session, resolved);
    }),
  );

/** The run that waits for somebody, where there is just one. */
const onlyWaiting = async (emend: Emend): Promise<string> => {
  needRuns(emend);
  const { runs, note } = await listRuns(emend, { limit: 0 });
  const waiting = runs.filter((run) => run.decision !== null);
  const [first] = waiting;
  // Where no worker is running for an open run, nobody can say that none waits.
  if (first === undefined && runs.some(({ open, state }) => open && state === 'unknown'))
    return fail('no_worker', note ?? 'No worker is running.', 'Then again: emend review');
  if (first === undefined)
    return fail('run_unknown', 'No run is waiting for you.', 'See `emend list`.');
  if (waiting.length === 1) return first.stepKey;
  const names = waiting.map((run) => `${shownKey(run.stepKey)} (${run.jobPath})`).join(', ');
  return fail(
    'run_ambiguous',
    `${waiting.length} runs are waiting for you: ${names}.`,
    'Name one: emend review RUN',
  );
};

const waitingFor = (view: RunView, shown: string): NonNullable<RunView['status']['decision']> => {
  if (view.source !== 'run')
    return fail(
      'no_worker',
      view.note ?? 'No worker is running.',
      `Then again: emend review ${shown}`,
    );
  return view.status.decision ?? noDecision(view, shown);
};

/** Nobody can be asked here: the diff, and how to answer it. */
const printed = async ({ io, emend }: Session, run: ResolvedRun): Promise<ExitCode> => {
  const shown = shownKey(run.stepKey);
  const view = await showRun(emend, run);
  const decision = waitingFor(view, shown);
  if (view.proposal !== null && decision.proposalId !== null)
    io.write((await loadReview(emend, decision, view.proposal, new Set())).diff);
  for (const text of await asked(emend, run)) io.err(text);
  for (const text of decisionLines(shown, decision, { width: io.columns, proposal: view.proposal }))
    io.err(text);
  return EXIT.waiting;
};

/** What the job asks for. */
const asked = async (emend: Emend, run: ResolvedRun): Promise<readonly string[]> => {
  const { text, reason } = await instructionsOf(emend, run);
  if (text === null) return [plain(`The instructions are not known: ${reason ?? ''}`), ''];
  const lines = plain(text.trim()).split('\n');
  return ['asked for:', ...lines.map((line) => `  ${line}`), ''];
};

const inTerminal = async (
  session: Session<QuietFlag>,
  started: ResolvedRun,
  signal: AbortSignal,
): Promise<ExitCode> => {
  const { io, emend } = session;
  const aside = asides(io, session.flags);
  const shown = shownKey(started.stepKey);
  /** Selections of this review: shown again in one piece. */
  const chosen = new Set<string>();
  for (const text of await asked(emend, started)) io.out(text);
  for (let run = started; ; run = await refreshRun(emend, run)) {
    const view = await showRun(emend, run);
    // Somebody else has answered all that was asked.
    if (run !== started && view.source === 'run' && view.status.decision === null) return EXIT.done;
    const decision = waitingFor(view, shown);
    if (decision.reason !== 'approval' || view.proposal === null) {
      const asked = await askDecision(session, run, decision, signal);
      if (signal.aborted) return EXIT.interrupted;
      if (asked === 'left') return EXIT.waiting;
      if (asked === 'answered') {
        aside.out(`emend watch ${shown}   follows it`);
        return EXIT.done;
      }
      continue;
    }
    const loaded = await loadReview(emend, decision, view.proposal, chosen);
    for (const text of [
      ...decisionHead(decision, { width: io.columns, proposal: view.proposal }),
      '',
    ])
      io.out(text);
    const reviewed = await askReview(session, run, loaded, { dir: view.status.workspace, signal });
    const again = `${shown} waits on.${aside.after(` Again: emend review ${shown}`)}`;
    if (signal.aborted) {
      io.err(`\nNothing was sent; ${again}`);
      return EXIT.interrupted;
    }
    if (reviewed === 'changed') continue;
    if (reviewed === 'left' || reviewed === 'part') {
      io.out(`Nothing more was sent; ${again}`);
      return EXIT.waiting;
    }
    for (const verdict of reviewed) if (verdict.answer === 'select') chosen.add(verdict.path);
    const answers = new Set(reviewed.map(({ answer }) => answer));
    if (!answers.has('select') || answers.has('revise')) {
      aside.out(`emend watch ${shown}   follows it`);
      return EXIT.done;
    }
    // What was sent counts, whether or not somebody waits here for what it becomes.
    const isNext = ({ decision: now }: StepStatus): boolean =>
      now !== null && now.id !== decision.id;
    const next = await untilStatus(emend, run, isNext, { signal, most_ms: REVIEW_BUILD_MS });
    if (next !== 'there') return EXIT.done;
    io.out(
      '\nYour selection is now a separate proposal.\nIt is applied only after you approve it:',
    );
  }
};
