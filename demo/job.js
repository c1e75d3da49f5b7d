/** One job, from its file to its end: what happens is told line by line, the combined diff is shown, and a person (or --yes) answers. */
import { join } from 'node:path';
import { exitOfClosed } from '../dist/src/cli/errors.js';
import { printDiff } from '../dist/src/cli/render/text.js';
import {
  decide,
  diffText,
  EXIT,
  ProblemError,
  readJobFile,
  resolveRun,
  runEvents,
  showRun,
  startStep,
  watchRun,
} from '../dist/src/client/index.js';
import { jobEnding, jobHeading, teller } from './words.js';

const ANSWERS = { y: 'approve', yes: 'approve', n: 'skip', no: 'skip' };

const TROUBLE = ['truncation_detected', 'answer_refused'];
const MAX_WIDTH = 120;

/**
 * `play`: {io, stage, yes, signal}. `kind` says what came of it: `ended`, `unanswered` (there is nobody to ask), `interrupted`.
 * Throws ProblemError `internal` where the run did not go as rehearsed.
 */
export const runJob = async (play, number, name) => {
  const { io, stage, signal } = play;
  const { emend, repo } = stage;
  const job = await readJobFile({ jobPath: join(repo, 'jobs', name), workspace: repo, cwd: repo });
  const started_ms = Date.now();
  const { stepKey } = await startStep(emend, { job });
  const run = await resolveRun(emend, stepKey);
  for (const text of jobHeading({ number, title: io.colors.bold(job.job.title), name, stepKey }))
    io.out(text);

  const log = eventLog(io, emend, run);
  let waited_ms = 0;
  for (let answered = null; ;) {
    const followed = await untilNews(emend, run, { log, answered, signal });
    if (signal.aborted) return { kind: 'interrupted' };
    if (followed.closed !== undefined) {
      await log();
      const seconds = (Date.now() - started_ms - waited_ms) / 1000;
      const ended = { number, stepKey, seconds, result: resultOf(followed.closed, name) };
      for (const text of jobEnding(ended)) io.out(text);
      return { kind: 'ended', ...ended };
    }
    const { decision } = followed;
    if (decision.reason !== 'approval')
      fail(`${name} waits for ${decision.reason}: ${decision.message}`);
    const paused_ms = Date.now();
    const answer = await review(play, run);
    waited_ms += Date.now() - paused_ms;
    if (answer === null) return { kind: signal.aborted ? 'interrupted' : 'unanswered' };
    await decide(emend, run, { answer, decision: decision.id });
    answered = decision.id;
  }
};

const resultOf = (closed, name) =>
  exitOfClosed(closed) === EXIT.done
    ? closed.result
    : fail(
        `${name} ${closed.result?.outcome ?? closed.status}: ${closed.result?.problem?.message ?? closed.message}`,
      );

const fail = (message) => {
  throw new ProblemError({
    code: 'internal',
    message,
    next: 'The demo is rehearsed, so this is a bug, or something outside got in its way.',
  });
};

/** Follows the run until it ends or waits for another decision than `answered`. */
const untilNews = async (emend, run, { log, answered, signal }) => {
  let decision = null;
  const closed = await watchRun(
    emend,
    run,
    async ({ status }) => {
      await log();
      if (status.decision === null || status.decision.id === answered) return undefined;
      decision = status.decision;
      return 'stop';
    },
    { signal },
  );
  return closed === null ? { decision } : { closed };
};

/** Prints what has happened since the last call. */
const eventLog = (io, emend, run) => {
  const linesOf = teller(Math.min(io.columns, MAX_WIDTH));
  let last = 0;
  return async () => {
    for (const event of await runEvents(emend, run, last)) {
      const tint = TROUBLE.includes(event.type) ? io.colors.yellow : String;
      for (const text of linesOf(event)) io.out(tint(text));
      last = event.seq;
    }
  };
};

/** Null: nobody here can answer. */
const review = async ({ io, stage, yes, signal }, run) => {
  const { proposal } = await showRun(stage.emend, run);
  io.out('');
  printDiff(io, await diffText(stage.emend, proposal));
  io.out('');
  const question = 'Apply this change, test it and commit it? [y]es, [n]o: ';
  if (yes) {
    io.out(`${question}yes (--yes)`);
    return 'approve';
  }
  if (!io.isTty) {
    io.out(
      'This waits for an approval, and there is no terminal to ask at. Nothing was changed; `npm run demo -- --yes` answers for you.',
    );
    return null;
  }
  for (;;) {
    const typed = await io.ask(question, signal);
    if (typed === null) return null;
    const answer = ANSWERS[typed.trim().toLowerCase()];
    if (answer !== undefined) return answer;
  }
};
