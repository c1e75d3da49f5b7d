/**
 * What a workflow answers, and how it hears decisions: by update, by signal, by the short signals of a hand. Handlers are there before the
 * first await, take `unknown`, never throw (the validator apart) and never wait.
 */
import { VERSION } from '../../shared/problems.js';
import { setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import { validateDecision, outcomeOf } from '../../shared/validate-decision.js';
import { UNSIGNED_ANSWERS, type DecideOutcome, type DecisionRequest } from '../../shared/decisions.js';
import type { BlobRef } from '../../shared/ids.js';
import type { VerifyDecisionResult } from '../../shared/step-activities.js';
import { eventsOf } from './details.js';
import type { FrameFact, Machine, RunState } from './machine.js';
import { readRequest, readShortSignal, type SignalReading } from './read-signal.js';
import { refuseUpdate } from './failures.js';
import type { LongRun } from './long-run.js';
import { boundsOf } from '../../shared/rules.js';
import { short } from '../../shared/text.js';
import * as names from './names.js';

/** Whose handlers they are: a run. */
interface DecisionTarget<S extends RunState, F> {
  readonly machine: Pick<Machine<S, F, never, never>, 'views' | 'signals'>;
  /** As it is now. */
  readonly state: S;
  readonly long: Pick<LongRun, 'heard'>;
  /** Takes up a request that counts; null, or why it does not count after all. */
  take(request: DecisionRequest): string | null;
  /** Who of the approvers signed it, by the recorded verdict of a host. */
  verify(request: DecisionRequest, approvers: BlobRef): Promise<VerifyDecisionResult>;
  dispatch(fact: F | FrameFact): void;
}

export const listen = <S extends RunState, F>(target: DecisionTarget<S, F>): void => {
  const { views, signals = [] } = target.machine;
  const { answerQuery } = names;
  answerQuery(names.status, () => views.status(target.state), 'What the run does or waits for');
  answerQuery(names.ledger, () => views.ledger(target.state), 'Each target file: status, attempts, reason');
  answerQuery(names.events, (query) => eventsOf(target.state, query), 'What happened, in order');
  answerQuery(names.proposal, () => views.proposal(target.state), 'The proposal: files, findings, tolerances');

  /** Null, or why it does not count. */
  const count = (request: DecisionRequest): string | null => {
    const validation = validateDecision(target.state, request);
    return validation.counts ? target.take(request) : validation.message;
  };
  /** Of an answer that an approver must sign; null: this one need not be signed, or does not count anyway. ◆ Awaited only by runs that have approvers. */
  const signed = (request: DecisionRequest): Promise<DecideOutcome> | null => {
    const { approvers, decision } = target.state;
    if (approvers === undefined || request.decision !== decision?.id || UNSIGNED_ANSWERS.includes(request.answer))
      return null;
    return validateDecision(target.state, request).counts ? countSigned(request, approvers) : null;
  };
  const countSigned = async (request: DecisionRequest, approvers: BlobRef): Promise<DecideOutcome> => {
    const { decision } = request;
    const verdict =
      request.signed === undefined ? { why: 'it is not signed' } : await target.verify(request, approvers);
    if ('why' in verdict) {
      const message = `one of the approvers must sign it, but ${verdict.why}`;
      ignore(`${request.answer} ${decision}`, message);
      return { outcome: 'ignored', decision, message };
    }
    const { signer } = verdict;
    const before = target.state;
    const known = { ...request, by: { ...request.by, name: signer, signer } };
    const message = count(known);
    return message === null
      ? outcomeOf(before, target.state, known)
      : { outcome: 'already_resolved', decision, message };
  };
  const decide = (body: unknown): DecideOutcome | Promise<DecideOutcome> => {
    const reading = readRequest(target.state, body);
    if (reading.kind === 'ignored') return { outcome: 'already_resolved', decision: '', message: reading.why };
    const { request } = reading;
    const signing = signed(request);
    if (signing !== null) return signing;
    const before = target.state;
    const message = count(request);
    if (message !== null) return { outcome: 'already_resolved', decision: request.decision, message };
    return outcomeOf(before, target.state, request);
  };
  const validator = (body: unknown): void => {
    const reading = readRequest(target.state, body);
    if (reading.kind === 'ignored') throw refuseUpdate(reading.why);
    const validation = validateDecision(target.state, reading.request);
    if (!validation.counts && !validation.again) throw refuseUpdate(validation.message);
  };
  const ignore = (what: string, why: string): void => target.dispatch({ type: 'ignored', what, why });
  const hear = (reading: SignalReading): void | Promise<void> => {
    target.long.heard();
    if (reading.kind === 'ignored') {
      ignore(reading.what, reading.why);
      return;
    }
    const { request } = reading;
    const signing = signed(request);
    if (signing !== null) return signing.then(() => undefined);
    const message = count(request);
    if (message !== null) ignore(`${request.answer} ${request.decision}`.trim(), message);
  };

  // Signals that came before the first task are handed out as their handlers are set: a kept history replays with this order.
  for (const { signal, description, read } of signals)
    setHandler(
      signal,
      (body) => {
        target.long.heard();
        const fact = read(target.state, body);
        if (fact !== null) target.dispatch(fact);
      },
      { description },
    );
  setHandler(names.decide, decide, {
    description: `Answers the open decision: {v: ${VERSION}, decision, answer, requestId, files?, note?, set?}`,
    validator,
  });
  setHandler(names.decideSignal, (body) => hear(readRequest(target.state, body)), {
    description:
      'Like the update of this name, for when no worker is running; the short signals below are easier to type',
  });
  for (const [answer, signal, description] of names.SHORT_SIGNALS)
    setHandler(signal, (body) => hear(readShortSignal(target.state, answer, body)), { description });
  // Last: it takes what came for handlers that are not set yet.
  setDefaultSignalHandler((name) => {
    void hear({
      kind: 'ignored',
      what: short(name, boundsOf(target.state).signal_chars),
      why: 'not a signal of this run',
    });
  });
};
