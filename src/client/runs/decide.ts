/** A person's answer to a decision point: as an update where a worker answers, else as a signal that waits for one. */
import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { fail, nullOn, problemOn, versioned } from '../../shared/problems.js';
import {
  UNSIGNED_ANSWERS,
  type Answer,
  type Decider,
  type DecideOutcome,
  type DecisionPoint,
  type DecisionRequest,
} from '../../shared/decisions.js';
import { MESSAGES } from '../../shared/messages.js';
import { currentRules } from '../../shared/rules.js';
import { shownKey } from '../../shared/ids.js';
import { needRuns, type Emend } from '../types.js';
import { noteClosed, refreshRun, type ResolvedRun } from './resolve.js';
import { shellWord } from '../../shared/text.js';
import { acceptanceFault, partsFault, type GivenAnswer } from '../../shared/validate-decision.js';
import { showRun, type RunView } from './show.js';

/** An answer to a decision. */
export interface DecideOptions extends Pick<
  DecisionRequest,
  'answer' | 'files' | 'note' | 'set' | 'select'
> {
  /** Id of the decision that was looked at; only `abort` may do without. */
  readonly decision?: string;
  readonly by?: Decider;
  /** False: the answer is not signed with this machine's key, or its sender knows that no signature is needed. A policy never signs. */
  readonly sign?: boolean;
}

/** What came of an answer. */
export type DecideResult =
  | (DecideOutcome & { readonly via: 'update' })
  /** On its way: the run will take it when a worker is there. */
  | (Pick<DecideOutcome, 'decision' | 'message'> & {
      readonly outcome: 'sent';
      readonly via: 'signal' | 'update';
    });

/**
 * Throws ProblemError `answer_not_accepted` (the validator's words, or the run is closed), `no_server`, `usage` (no decision is named, a
 * note over BOUNDS.note_bytes).
 */
export const decide = async (
  emend: Emend,
  run: ResolvedRun,
  options: DecideOptions,
): Promise<DecideResult> => {
  needOpen(emend, run);
  needFields(options);
  const unsigned = await requestOf(options, run);
  const request = maySign(options) ? await signed(emend, run, unsigned) : unsigned;
  const result = await send(emend, run, request).catch((error: unknown) => {
    const { message, next } = problemOn('no_server')(error);
    return fail(
      'no_server',
      `${message} It may have received the answer.`,
      `${next} Is the decision still open? Answer again.`,
    );
  });
  const at = new Date().toISOString();
  const entry = { id: request.requestId, at, kind: 'decision', data: { request, result } } as const;
  // The run has it, whatever becomes of our own note.
  const unkept = await emend.archive
    .append(run.stepKey, [entry])
    .catch(problemOn('disk', 'store_unusable'));
  return unkept
    ? { ...result, message: `${result.message} (not noted in the archive: ${unkept.message})` }
    : result;
};

/** Answers that approve nothing, and those of a policy, are never signed. */
const maySign = ({ answer, by, sign = true }: DecideOptions): boolean =>
  sign && by?.from !== 'policy' && !UNSIGNED_ANSWERS.includes(answer);

/** Loads the signing only for an answer that may need it. */
const signed = async (
  emend: Emend,
  run: ResolvedRun,
  request: DecisionRequest,
): Promise<DecisionRequest> => {
  const { signIfNeeded } = await import('./sign-answer.js');
  return signIfNeeded(emend, run, request);
};

/** Throws ProblemError `usage` if the answer has a fault that no decision would accept, or names no decision. */
const needFields = (options: DecideOptions): void => {
  needParts(options);
  if (options.decision === undefined && options.answer !== 'abort')
    fail(
      'usage',
      `${options.answer} needs the id of the decision you saw; nothing was sent.`,
      'Pass it as `decision`: `emend show` prints it.',
    );
};

/** Returns the request without a signature. Throws ProblemError `usage` if its command contains a secret. */
const requestOf = async (options: DecideOptions, run: ResolvedRun): Promise<DecisionRequest> => {
  const parts = givenOf(options);
  const { note, command } = await withoutSecrets(parts, run);
  if (command !== options.set?.command)
    fail(
      'usage',
      'The command contains what looks like a secret, and every answer is kept in the history; nothing was sent.',
      'Put the secret into a variable of the worker, list its name under `env` in emend.yaml, and use the variable in the command.',
    );
  return versioned({
    decision: options.decision ?? '',
    ...parts,
    ...(note === undefined ? {} : { note }),
    requestId: randomUUID(),
    by: options.by ?? { name: loginName(), from: 'cli' },
  });
};

/** The parts of the answer. No files and no settings mean the same as an empty list of them. */
const givenOf = ({ answer, files = [], note, set = {}, select }: DecideOptions): GivenAnswer => ({
  answer,
  ...(files.length === 0 ? {} : { files }),
  ...(note === undefined ? {} : { note }),
  ...(Object.keys(set).length === 0 ? {} : { set }),
  ...(select === undefined ? {} : { select }),
});

/** Options of the command line by which an answer gets the part that it needs. */
const OPTIONS: Partial<Record<Answer, string>> = {
  revise: 'Add --note "…".',
  select: 'Add --hunk PATH:1,3 (repeatable), or review them: emend review RUN.',
  other: 'Add --set command="…".',
  change_model: 'Add --set model=NAME.',
};

/**
 * Throws ProblemError `usage` if a part is missing, or if the answer has what no record may keep. The run checks the same, but the server keeps
 * a signal before any run has seen it, and the archive keeps what was sent.
 */
export const needParts = (options: DecideOptions): void => {
  const fault = partsFault(currentRules(), givenOf(options));
  if (fault !== null) fail('usage', `${fault}.`, OPTIONS[options.answer]);
};

/** Its rules are loaded only for an answer that has words. */
const withoutSecrets = async (
  { note, set }: DecideOptions,
  { live, archived }: ResolvedRun,
): Promise<{ readonly note?: string; readonly command?: number | string }> => {
  const words = {
    ...(note === undefined ? {} : { note }),
    ...(set?.command === undefined ? {} : { command: set.command }),
  };
  if (Object.keys(words).length === 0) return words;
  const { maskedWords } = await import('./masked-words.js');
  return maskedWords(words, live?.memo?.workspace ?? archived.started?.workspace ?? null);
};

const send = async (
  emend: Emend,
  run: ResolvedRun,
  request: DecisionRequest,
): Promise<DecideResult> => {
  const runs = needRuns(emend);
  const ref = run.live ?? fail('run_unknown', 'The server does not know this run.');
  const { decision } = request;
  const shown = shownKey(run.stepKey);
  const sent = await runs.update(ref, request, emend.timings.acceptWait_ms);
  switch (sent.kind) {
    case 'answered':
      if (sent.outcome.outcome === 'ignored')
        return fail(
          'answer_not_accepted',
          `The answer was ignored: ${sent.outcome.message}.`,
          request.answer === 'move' ? undefined : howToSign(shown, request),
        );
      return { ...sent.outcome, via: 'update' };
    case 'refused':
      return fail(
        'answer_not_accepted',
        sent.message,
        `See \`emend show ${shown}\` for its open decision.`,
      );
    case 'closed': {
      // A run that goes on in a new one has not ended.
      const now = await refreshRun(emend, run);
      if (now.live?.open === true && now.live.runId !== ref.runId) return send(emend, now, request);
      return notAccepted(await whyTooLate(emend, now, decision), shown);
    }
    case 'accepted': {
      const message = `The run received the answer; see the result with \`emend show ${shown}\`.`;
      return { outcome: 'sent', decision, via: 'update', message };
    }
    case 'not_accepted': {
      // The update is not withdrawn, so the run may get the same request twice: its requestId makes it count once.
      // Closed by now, perhaps by this very answer: then the update is told again what came of it.
      if (!(await runs.signal(ref, MESSAGES.answer, request))) return send(emend, run, request);
      const message = (await runs.polled(ref.queue, true).catch(() => true))
        ? `The run has not confirmed the answer yet. The server keeps it; see the result with \`emend show ${shown}\`.`
        : 'No worker has responded yet. The server keeps the answer until one starts: `emend worker`.';
      return { outcome: 'sent', decision, via: 'signal', message };
    }
  }
};

/** Says who gave which answer before the run ended. The server refuses an update of an ended run in words of its own. */
const whyTooLate = async (emend: Emend, run: ResolvedRun, decision: string): Promise<string> => {
  const ended = `Run ${shownKey(run.stepKey)} has ended in the meantime`;
  // Without the server the archive may have it.
  const { events } = (await noteClosed(emend, run).catch(nullOn('no_server'))) ?? run.archived;
  const answers = events.flatMap((event) =>
    event.type === 'decided' && event.decision === decision
      ? [`${event.answer} by ${event.by}`]
      : [],
  );
  if (answers.length > 0)
    return `${ended}: decision ${decision} is resolved: ${answers.join(', ')}.`;
  const abort = events.findLast((event) => event.type === 'abort_requested');
  return abort === undefined ? `${ended}.` : `${ended}: abort by ${abort.by}.`;
};

const howToSign = (
  run: string,
  { decision, answer, files = [], note, select }: DecisionRequest,
): string => {
  const given = [
    ...files.map((path) => ` --file ${shellWord(path)}`),
    note === undefined ? '' : ` --note ${shellWord(note)}`,
  ];
  const type =
    select === undefined
      ? `emend decide ${run} ${answer} --decision ${decision}${given.join('')}`
      : `emend review ${run}`;
  return `In a terminal whose git is configured with an approver's key (gpg.format ssh, user.signingkey): ${type}`;
};

/** `shown`: the run that says more. */
const notAccepted = (message: string, shown?: string): never =>
  fail('answer_not_accepted', message, shown && `See \`emend show ${shown}\`.`);

const needOpen = (emend: Emend, run: ResolvedRun): void => {
  needRuns(emend);
  const shown = shownKey(run.stepKey);
  if (run.live?.open !== true)
    notAccepted(`Run ${shown} is no longer open, so it accepts no answers.`, shown);
};

/**
 * The decision that this answer would be for. Null: none is open, or nobody can say, and the answer is `abort`, which means the same
 * whatever is open. A text: the id of a wait for a model that is down, which needs no look. Throws as `decide` does.
 */
export const openDecision = async (
  emend: Emend,
  run: ResolvedRun,
  options: DecideOptions,
): Promise<DecisionPoint | string | null> => {
  needOpen(emend, run);
  const view = await showRun(emend, run, { full: false });
  const { decision } = view.status;
  const { answer } = options;
  const shown = shownKey(run.stepKey);
  if (view.source === 'run' && decision !== null) {
    const fault = acceptanceFault(currentRules(), decision, givenOf(options));
    return fault === null ? decision : notAccepted(`${fault}.`, shown);
  }
  if (answer === 'abort') return null;
  // A wait for a model that is down approves nothing: the next try comes at once.
  if (view.source === 'run' && answer === 'retry' && view.status.outage !== undefined)
    return view.status.outage.id;
  if (view.source === 'run') return noDecision(view, shown);
  return fail(
    'no_worker',
    `Cannot tell which decision of run ${shown} is open. ${view.note ?? 'No worker is running.'}`,
    `Then answer again, or pass the decision: emend decide ${shown} ${answer} --decision ID`,
  );
};

export const noDecision = ({ status }: Pick<RunView, 'status'>, shown: string): never =>
  notAccepted(`Run ${shown} has no open decision: it is ${status.doing}.`, shown);

export const loginName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
};
