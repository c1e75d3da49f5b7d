/**
 * What a workflow answers, and how it hears decisions: by update, by signal, by the short signals of a hand. Handlers are there before the
 * first await, take `unknown`, never throw (the validator apart) and never wait.
 */
import {
  CancellationScope,
  currentUpdateInfo,
  setDefaultSignalHandler,
  setHandler,
} from '@temporalio/workflow';
import { validateDecision, outcomeOf } from '../../shared/validate-decision.js';
import {
  UNSIGNED_ANSWERS,
  type DecideOutcome,
  type DecisionRequest,
} from '../../shared/decisions.js';
import type { ResultOf } from '../../shared/activities.js';
import type { BlobRef, StepKey } from '../../shared/ids.js';
import type { FullStatus, StatusQuery } from '../../shared/run.js';
import { callsOf, type Asked, type Calls, type Words } from './activities.js';
import { eventsOf } from './details.js';
import type { FrameFact, Machine, RunState } from './machine.js';
import { readRequest, readShortSignal, type SignalReading } from './read-signal.js';
import { failureOf, refuseUpdate } from './failures.js';
import type { LongRun } from './long-run.js';
import { short } from '../../shared/text.js';
import { tokensIn } from '../../shared/tokens.js';
import * as names from './names.js';

/** Whose handlers they are: a run. */
interface DecisionTarget<S extends RunState, F> {
  readonly machine: Pick<Machine<S, F, never, never>, 'views' | 'signals' | 'move'>;
  /** As it is now. */
  readonly state: S;
  readonly long: Pick<LongRun, 'heard'>;
  /** Takes up a request that counts; null, or why it does not count after all. */
  take(request: DecisionRequest): string | null;
  readonly calls: Calls;
  dispatch(fact: F | FrameFact): void;
}

/** A host's word, which is recorded. */
async function ask<N extends 'verifyDecision' | 'checkMove'>(
  activity: N,
  words: string,
  about: Asked<N>,
  { calls, stepKey }: { readonly calls: Calls; readonly stepKey: StepKey },
): Promise<ResultOf<N> | { readonly why: string }> {
  const call = calls(activity, words as Words<N>);
  try {
    return await CancellationScope.nonCancellable(() => call({ stepKey, log: [], ...about }));
  } catch (error) {
    return { why: `it could not be checked: ${failureOf(error, activity).message}` };
  }
}

export const listen = <S extends RunState, F>(target: DecisionTarget<S, F>): void => {
  const { views, signals = [] } = target.machine;
  const { answerQuery } = names;
  const statusOf = (query?: StatusQuery): FullStatus => ({
    ...views.status(target.state),
    ...(query?.full === true && {
      ledger: views.ledger(target.state),
      proposal: views.proposal(target.state),
    }),
  });
  answerQuery(
    names.status,
    statusOf,
    'What the run does or waits for; with {"full":true} ledger and proposal, too',
  );
  answerQuery(
    names.ledger,
    () => views.ledger(target.state),
    'Each target file: status, attempts, reason',
  );
  answerQuery(names.events, (query) => eventsOf(target.state, query), 'What happened, in order');
  answerQuery(
    names.proposal,
    () => views.proposal(target.state),
    'The proposal: files, findings, tolerances',
  );

  /** Null, or why it does not count. */
  const count = (request: DecisionRequest): string | null => {
    const validation = validateDecision(target.state, request);
    return validation.counts ? target.take(request) : validation.message;
  };
  /** Of an answer that a host looks at first; null: none does, or it does not count anyway. ◆ Awaited only by runs that have approvers, and for a move. */
  const checked = (request: DecisionRequest): Promise<DecideOutcome> | null => {
    const { approvers, decision } = target.state;
    const signers = UNSIGNED_ANSWERS.includes(request.answer) ? undefined : approvers;
    if (request.decision !== decision?.id || (signers === undefined && request.answer !== 'move'))
      return null;
    return validateDecision(target.state, request).counts ? countChecked(request, signers) : null;
  };
  const countChecked = async (
    request: DecisionRequest,
    approvers?: BlobRef,
  ): Promise<DecideOutcome> => {
    const { decision } = request;
    const ignored = (message: string): DecideOutcome => {
      ignore(`${request.answer} ${decision}`, message);
      return { outcome: 'ignored', decision, message };
    };
    const move =
      request.answer === 'move'
        ? (target.machine.move?.(target.state, request) ?? 'it stays')
        : null;
    if (typeof move === 'string') return ignored(move);
    // The host that it leaves checks nothing any more.
    const there = {
      calls: move === null ? target.calls : callsOf(move.input),
      stepKey: target.state.input.stepKey,
    };
    let known = request;
    if (approvers !== undefined) {
      const about = { approvers, proposal: target.state.decision?.proposalId ?? null, request };
      const check = () => ask('verifyDecision', `check who signed ${request.answer}`, about, there);
      const verdict = request.signed === undefined ? { why: 'it is not signed' } : await check();
      if ('why' in verdict) return ignored(`one of the approvers must sign it, but ${verdict.why}`);
      known = { ...request, by: { ...request.by, name: verdict.signer, signer: verdict.signer } };
    }
    const fits =
      move === null
        ? null
        : await ask('checkMove', `look at ${move.asked.workspace}`, move.asked, there);
    if (fits?.why != null) return ignored(fits.why);
    const before = target.state;
    const message = count(known);
    return message === null
      ? outcomeOf(before, target.state, known)
      : { outcome: 'already_resolved', decision, message };
  };
  const readUpdate = (body: unknown): SignalReading =>
    readRequest(target.state, body, currentUpdateInfo()?.id);
  const decide = (body: unknown): DecideOutcome | Promise<DecideOutcome> => {
    const reading = readUpdate(body);
    if (reading.kind === 'ignored')
      return { outcome: 'already_resolved', decision: '', message: reading.why };
    const { request } = reading;
    const checking = checked(request);
    if (checking !== null) return checking;
    const before = target.state;
    const message = count(request);
    if (message !== null)
      return { outcome: 'already_resolved', decision: request.decision, message };
    return outcomeOf(before, target.state, request);
  };
  const validator = (body: unknown): void => {
    const reading = readUpdate(body);
    if (reading.kind === 'ignored') throw refuseUpdate(reading.why);
    // Refused by a validator, an update does not enter the history. Emend's own commands replace secrets before they send anything.
    const { note = '', set = {} } = reading.request;
    if (tokensIn([note, ...Object.values(set)].join('\n')).length > 0)
      throw refuseUpdate(
        'the note or a setting contains what looks like a secret, which the history would keep: send it without',
      );
    const validation = validateDecision(target.state, reading.request);
    if (!validation.counts && !validation.again) throw refuseUpdate(validation.message);
  };
  const ignore = (what: string, why: string): void =>
    target.dispatch({ type: 'ignored', what, why });
  const hear = (reading: SignalReading): void | Promise<void> => {
    target.long.heard();
    if (reading.kind === 'ignored') {
      ignore(reading.what, reading.why);
      return;
    }
    const { request } = reading;
    const checking = checked(request);
    if (checking !== null) return checking.then(() => undefined);
    const message = count(request);
    if (message !== null) ignore(`${request.answer} ${request.decision}`.trim(), message);
  };

  // Signals that came before the first task are handed out as their handlers are set: a kept history replays with this order.
  for (const { signal, description, read } of signals)
    setHandler(
      signal,
      (body) => {
        target.long.heard();
        target.dispatch(read(target.state, body));
      },
      { description },
    );
  setHandler(names.decide, decide, {
    description:
      'Answers the open decision; body: {"decision": "<id>", "answer": "approve"}, "files", "note" and "set" are optional',
    validator,
  });
  setHandler(names.decideSignal, (body) => hear(readRequest(target.state, body)), {
    description:
      'Like the update of this name, for when no worker is running; the short signals below are easier to type',
  });
  for (const [answer, signal, description] of names.SHORT_SIGNALS)
    setHandler(signal, (body) => hear(readShortSignal(target.state, answer, body)), {
      description,
    });
  // Last: it takes what came for handlers that are not set yet.
  setDefaultSignalHandler((name) => {
    void hear({
      kind: 'ignored',
      what: short(name, target.state.input.rules.bounds.signal_chars),
      why: 'not a signal of this run',
    });
  });
};
