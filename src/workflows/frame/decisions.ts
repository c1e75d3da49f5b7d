/**
 * What a workflow answers, and how it hears decisions: by update, by signal, by the short signals of a hand. Handlers are there before the
 * first await, take `unknown`, never throw (the validator apart) and never wait.
 */
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
  fold(fact: F | FrameFact): void;
}

export const listen = <S extends RunState, F>(desk: DecisionTarget<S, F>): void => {
  const { views, signals = [] } = desk.machine;
  const { answerQuery } = names;
  answerQuery(names.status, () => views.status(desk.state), 'What the run does or waits for');
  answerQuery(names.ledger, () => views.ledger(desk.state), 'Each target file: status, attempts, reason');
  answerQuery(names.events, (query) => eventsOf(desk.state, query), 'What happened, in order');
  answerQuery(names.proposal, () => views.proposal(desk.state), 'The sealed proposal: files, findings, rungs');

  /** Null, or why it does not count. */
  const count = (request: DecisionRequest): string | null => {
    const judgement = validateDecision(desk.state, request);
    return judgement.counts ? desk.take(request) : judgement.message;
  };
  const decide = (body: unknown): DecideOutcome => {
    const reading = readRequest(desk.state, body);
    if (reading.kind === 'ignored') return { outcome: 'already_settled', decision: '', message: reading.why };
    const { request } = reading;
    const before = desk.state;
    const message = count(request);
    if (message !== null) return { outcome: 'already_settled', decision: request.decision, message };
    return outcomeOf(before, desk.state, request);
  };
  const validator = (body: unknown): void => {
    const reading = readRequest(desk.state, body);
    if (reading.kind === 'ignored') throw refuseUpdate(reading.why);
    const judgement = validateDecision(desk.state, reading.request);
    if (!judgement.counts && !judgement.again) throw refuseUpdate(judgement.message);
  };
  const ignore = (what: string, why: string): void => {
    desk.fold({ type: 'ignored', what, why });
  };
  const hear = (reading: SignalReading): void => {
    desk.long.heard();
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
        desk.long.heard();
        const fact = read(desk.state, body);
        if (fact !== null) desk.fold(fact);
      },
      { description },
    );
  setHandler(names.decide, decide, {
    description: 'Answers the open decision: {v: 1, decision, answer, requestId, files?, note?, set?}',
    validator,
  });
  setHandler(
    names.decideSignal,
    (body) => {
      hear(readRequest(desk.state, body));
    },
    {
      description: 'As the update of this name, for when no worker answers; the short signals below are easier by hand',
    },
  );
  for (const [answer, signal, description] of names.SHORT_SIGNALS)
    setHandler(
      signal,
      (body) => {
        hear(readShortSignal(desk.state, answer, body));
      },
      { description },
    );
  // Last: it takes what came for handlers that are not set yet.
  setDefaultSignalHandler((name) => {
    hear({ kind: 'ignored', what: short(name, boundsOf(desk.state).signal_chars), why: 'no signal of this run' });
  });
};
