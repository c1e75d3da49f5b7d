/**
 * What a workflow answers, and how it hears decisions: by update, by signal, by the short signals of a hand. Handlers are there before the
 * first await, take `unknown`, never throw (the validator apart) and never wait.
 */
import { VERSION } from '../../shared/problems.js';
import { setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import { validateDecision, outcomeOf } from '../../shared/validate-decision.js';
import type { DecideOutcome, DecisionRequest } from '../../shared/decisions.js';
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
  const decide = (body: unknown): DecideOutcome => {
    const reading = readRequest(target.state, body);
    if (reading.kind === 'ignored') return { outcome: 'already_resolved', decision: '', message: reading.why };
    const { request } = reading;
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
  const ignore = (what: string, why: string): void => {
    target.dispatch({ type: 'ignored', what, why });
  };
  const hear = (reading: SignalReading): void => {
    target.long.heard();
    if (reading.kind === 'ignored') {
      ignore(reading.what, reading.why);
      return;
    }
    const { request } = reading;
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
  setHandler(
    names.decideSignal,
    (body) => {
      hear(readRequest(target.state, body));
    },
    {
      description: 'As the update of this name, for when no worker answers; the short signals below are easier by hand',
    },
  );
  for (const [answer, signal, description] of names.SHORT_SIGNALS)
    setHandler(
      signal,
      (body) => {
        hear(readShortSignal(target.state, answer, body));
      },
      { description },
    );
  // Last: it takes what came for handlers that are not set yet.
  setDefaultSignalHandler((name) => {
    hear({ kind: 'ignored', what: short(name, boundsOf(target.state).signal_chars), why: 'no signal of this run' });
  });
};
