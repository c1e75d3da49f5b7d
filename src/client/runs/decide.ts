/** A person's answer to a decision point: as an update where a worker answers, else as a signal that waits for one. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { BOUNDS } from '../../shared/limits.js';
import { fail, problemOn, versioned } from '../../shared/problems.js';
import {
  SIGNATURES,
  signedStatement,
  UNSIGNED_ANSWERS,
  type Answer,
  type Decider,
  type DecideOutcome,
  type DecisionPoint,
  type DecisionRequest,
} from '../../shared/decisions.js';
import { SIGNALS } from '../../shared/names.js';
import { urlFault } from '../../shared/repository.js';
import { shownKey, type StepKey } from '../../shared/ids.js';
import { needRuns, type Emend } from '../types.js';
import { refreshRun, type ResolvedRun } from './resolve.js';
import { shellWord } from '../../shared/text.js';
import { canonicalJson } from '../../system/hash.js';
import { signText } from '../../system/ssh-signature.js';
import { gitLine } from '../../workspace/git/index.js';
import { showRun, type RunView } from './show.js';

/** An answer to a decision. */
export interface DecideOptions extends Pick<
  DecisionRequest,
  'answer' | 'files' | 'note' | 'set' | 'select'
> {
  /** Id of the decision that was looked at; only `abort` may do without. */
  readonly decision?: string;
  readonly by?: Decider;
  /** False: not with this machine's key, whoever must sign. A policy never signs. */
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
  const request = await signed(emend, run, unsigned, options.sign ?? true);
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

/** Throws ProblemError `usage` if the note is too long, a part is missing, or no decision is named. */
const needFields = (options: DecideOptions): void => {
  const { answer, decision, note = '' } = options;
  const bytes = Buffer.byteLength(note);
  if (bytes > BOUNDS.note_bytes)
    fail('usage', `The note has ${bytes} bytes; at most ${BOUNDS.note_bytes} are allowed.`);
  needParts(options);
  if (decision === undefined && answer !== 'abort')
    fail(
      'usage',
      `${answer} needs the id of the decision you saw; nothing was sent.`,
      'Pass it as `decision`: `emend show` prints it.',
    );
};

/** Returns the request without a signature. Throws ProblemError `usage` if its command contains a secret. */
const requestOf = async (options: DecideOptions, run: ResolvedRun): Promise<DecisionRequest> => {
  const { note, command } = await withoutSecrets(options, run);
  if (command !== options.set?.command)
    fail(
      'usage',
      'The command contains what looks like a secret, and every answer is kept in the history; nothing was sent.',
      'Put the secret into a variable of the worker, list its name under `env` in emend.yaml, and use the variable in the command.',
    );
  return versioned({
    decision: options.decision ?? '',
    answer: options.answer,
    ...(options.files === undefined || options.files.length === 0 ? {} : { files: options.files }),
    ...(note === undefined ? {} : { note }),
    ...(options.set === undefined || Object.keys(options.set).length === 0
      ? {}
      : { set: options.set }),
    ...(options.select === undefined ? {} : { select: options.select }),
    requestId: randomUUID(),
    by: options.by ?? { name: loginName(), from: 'cli' },
  });
};

/** Throws ProblemError `usage` where the answer lacks what it cannot do without, or has what nobody may keep, whatever is open. */
export const needParts = ({ answer, note = '', select, set }: DecideOptions): void => {
  if (answer === 'revise' && note.trim() === '')
    fail('usage', 'revise needs a note that says what to change.', 'Add --note "…".');
  if (answer === 'select' && select === undefined)
    fail(
      'usage',
      'select needs the hunks to accept.',
      'Add --hunk PATH:1,3 (repeatable), or review them: emend review RUN.',
    );
  if (answer === 'other' && set?.command === undefined)
    fail('usage', 'other needs the command to run.', 'Add --set command="…".');
  // A run refuses it too, but the server keeps a signal before any run has seen it, and we keep what was sent.
  const fault = typeof set?.repository === 'string' ? urlFault(set.repository) : null;
  if (fault !== null) fail('usage', `set.repository: expected ${fault}.`);
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

/** Signed where an approver must and a key is configured. */
const signed = async (
  emend: Emend,
  run: ResolvedRun,
  request: DecisionRequest,
  wanted: boolean,
): Promise<DecisionRequest> => {
  if (!wanted || request.by.from === 'policy' || UNSIGNED_ANSWERS.includes(request.answer))
    return request;
  const key = await signingKey(run.live?.memo?.workspace);
  if (key === null) return request;
  const { source, status } = await showRun(emend, run, { full: false });
  if (status.decision?.mustSign !== true || status.decision.id !== request.decision) return request;
  if (source === 'run') return sign(run.stepKey, status.decision, request, key);
  return fail(
    'no_worker',
    'An approver must sign this answer, but no worker is reachable to name the proposal.',
  );
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
      return notAccepted(`Run ${shown} has ended in the meantime.`, shown);
    }
    case 'accepted': {
      const message = `The run received the answer; see the result with \`emend show ${shown}\`.`;
      return { outcome: 'sent', decision, via: 'update', message };
    }
    case 'not_accepted': {
      // The update is not withdrawn, so the run may get the same request twice: its requestId makes it count once.
      // Closed by now, perhaps by this very answer: then the update is told again what came of it.
      if (!(await runs.signal(ref, SIGNALS.decide, request))) return send(emend, run, request);
      const message = (await runs.polled(ref.queue, true).catch(() => true))
        ? `The run has not confirmed the answer yet. The server keeps it; see the result with \`emend show ${shown}\`.`
        : 'No worker has responded yet. The server keeps the answer until one starts: `emend worker`.';
      return { outcome: 'sent', decision, via: 'signal', message };
    }
  }
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
  { answer, files }: Pick<DecideOptions, 'answer' | 'files'>,
): Promise<DecisionPoint | string | null> => {
  needOpen(emend, run);
  const view = await showRun(emend, run, { full: false });
  const { decision } = view.status;
  const shown = shownKey(run.stepKey);
  if (view.source === 'run' && decision !== null)
    return checkAnswer(decision, answer, files ?? [], shown);
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

/** What the run would refuse is said here in words that name this decision's answers and files. */
const checkAnswer = (
  decision: DecisionPoint,
  answer: Answer,
  files: readonly string[],
  shown: string,
): DecisionPoint => {
  if (!decision.accepts.includes(answer))
    return notAccepted(
      `Run ${shown} is waiting for ${decision.reason} (${decision.id}), which accepts ${decision.accepts.join(', ')}; received ${answer}.`,
    );
  const known = decision.files.map((file) => file.path);
  const strange = files.find((file) => !known.includes(file));
  if (strange !== undefined)
    return notAccepted(
      `Decision ${decision.id} is not about ${strange}; it is about ${known.join(', ') || 'the whole step'}.`,
    );
  return decision;
};

export const loginName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
};

// Signing, with the key that git signs with (`gpg.format=ssh`, `user.signingkey`).

/** As git is configured in the workspace, where it is on this machine; null: there is none. */
const signingKey = async (workspace: string | undefined): Promise<string | null> => {
  const cwd = workspace !== undefined && existsSync(workspace) ? workspace : process.cwd();
  const ask = async (args: readonly string[]): Promise<string | null> => {
    const said = await gitLine(['config', ...args], { cwd, environment: process.env });
    return said.ok && said.value !== '' ? said.value : null;
  };
  return (await ask(['--get', 'gpg.format'])) === 'ssh'
    ? ask(['--type=path', '--get', 'user.signingkey'])
    : null;
};

/** Throws ProblemError `usage` where the key cannot sign. */
export const sign = async (
  stepKey: StepKey,
  { proposalId }: Pick<DecisionPoint, 'proposalId'>,
  request: DecisionRequest,
  key: string,
): Promise<DecisionRequest> => {
  const at = new Date().toISOString();
  const text = canonicalJson(signedStatement(stepKey, proposalId, request, at));
  return { ...request, signed: { at, signature: await signText(text, key, SIGNATURES) } };
};
