/** How a workflow hears decisions: by update, by signal, by the short signals of a hand. Handlers never throw (the validator apart) and never wait. */
import { setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import { judge, outcomeOf } from '../../shared/validate-decision.js';
import type { DecideOutcome, DecisionRequest } from '../../shared/decisions.js';
import { readRequest, readShortSignal, type SignalReading } from './read-signal.js';
import { refuseUpdate } from './failures.js';
import type { LongRun } from './long-run.js';
import { boundsOf } from '../../shared/rules.js';
import { short } from '../../shared/text.js';
import * as names from './names.js';

/** What a workflow tells and does: a step, a plan. */
export interface Desk {
  /** As it is now. */
  state(): Parameters<typeof judge>[0];
  /** Takes up a request that counts; null, or why it does not count after all. */
  take(request: DecisionRequest): string | null;
  readonly long: Pick<LongRun, 'heard'>;
  /** Keeps what did not count. */
  ignored(what: string, why: string): void;
}

export const listenForDecisions = (desk: Desk): void => {
  /** Null, or why it does not count. */
  const count = (request: DecisionRequest): string | null => {
    const judgement = judge(desk.state(), request);
    return judgement.counts ? desk.take(request) : judgement.message;
  };
  const decide = (body: unknown): DecideOutcome => {
    const reading = readRequest(desk.state(), body);
    if (reading.kind === 'ignored') return { outcome: 'already_settled', decision: '', message: reading.why };
    const { request } = reading;
    const before = desk.state();
    const message = count(request);
    if (message !== null) return { outcome: 'already_settled', decision: request.decision, message };
    return outcomeOf(before, desk.state(), request);
  };
  const validator = (body: unknown): void => {
    const reading = readRequest(desk.state(), body);
    if (reading.kind === 'ignored') throw refuseUpdate(reading.why);
    const judgement = judge(desk.state(), reading.request);
    if (!judgement.counts && !judgement.again) throw refuseUpdate(judgement.message);
  };
  const hear = (reading: SignalReading): void => {
    desk.long.heard();
    if (reading.kind === 'ignored') {
      desk.ignored(reading.what, reading.why);
      return;
    }
    const { request } = reading;
    const message = count(request);
    if (message !== null) desk.ignored(`${request.answer} ${request.decision}`.trim(), message);
  };

  // Signals that came before the first task are handed out as their handlers are set: a kept history replays with this order.
  setHandler(names.decide, decide, {
    description: 'Answers the open decision: {v: 1, decision, answer, requestId, files?, note?, set?}',
    validator,
  });
  setHandler(
    names.decideSignal,
    (body) => {
      hear(readRequest(desk.state(), body));
    },
    {
      description: 'As the update of this name, for when no worker answers; the short signals below are easier by hand',
    },
  );
  for (const [answer, signal, description] of names.SHORT_SIGNALS)
    setHandler(
      signal,
      (body) => {
        hear(readShortSignal(desk.state(), answer, body));
      },
      { description },
    );
  // Last: it takes what came for handlers that are not set yet.
  setDefaultSignalHandler((name) => {
    hear({ kind: 'ignored', what: short(name, boundsOf(desk.state()).signal_chars), why: 'no signal of this run' });
  });
};
