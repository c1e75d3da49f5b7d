/**
 * Receives the messages of a run. The validator of an update and the handler of a signal ask the same function whether a message counts.
 * Handlers take `unknown` and never throw.
 */
import { CancellationScope } from '@temporalio/workflow';
import type { ResultOf } from '../../../shared/activities.js';
import {
  type DecideOutcome,
  type DecisionRequest,
  UNSIGNED_ANSWERS,
} from '../../../shared/decisions.js';
import type { StepEvent } from '../../../shared/events.js';
import type { BlobRef, StepKey } from '../../../shared/ids.js';
import {
  type Message,
  type MessageName,
  MESSAGES,
  type Reading,
  readMessage,
} from '../../../shared/messages.js';
import type { ProposalSummary } from '../../../shared/proposal-activities.js';
import type { EventsQuery, FullStatus, LedgerRow, StatusQuery } from '../../../shared/run.js';
import { asText, short } from '../../../shared/text.js';
import { tokensIn } from '../../../shared/tokens.js';
import { judge, outcomeOf, validateDecision } from '../../../shared/validate-decision.js';
import { type Asked, type Calls, callsOf, type Words } from '../activities.js';
import { eventsOf } from '../details.js';
import { failureOf, refuseUpdate } from '../failures.js';
import type { LongRun } from '../long-run.js';
import type { FrameFact, Machine, Move, OwnSignal, RunState } from '../machine.js';
import type { Receiver } from '../messages.js';

/** The run that the messages are for. */
interface Target<S extends RunState, F> {
  readonly machine: Pick<Machine<S, F, never, never>, 'views' | 'move'>;
  /** Its state at this moment. */
  readonly state: S;
  readonly long: Pick<LongRun, 'heard'>;
  readonly calls: Calls;
  /** Takes up a request that counts; returns null, or the reason why it does not count after all. */
  take(request: DecisionRequest): string | null;
  dispatch(fact: F | FrameFact): void;
}

/** Text of something that was sent, short enough for the state. */
export const shown = (state: Pick<RunState, 'input'>, value: unknown): string =>
  short(asText(value), state.input.rules.bounds.signal_chars);

export class Decisions<S extends RunState, F> implements Receiver<S, F> {
  private readonly run: Target<S, F>;

  constructor(run: Target<S, F>) {
    this.run = run;
  }

  status(query: StatusQuery | undefined): FullStatus {
    const status = this.run.machine.views.status(this.run.state);
    if (query?.full !== true) return status;
    return { ...status, ledger: this.ledger(), proposal: this.proposal() };
  }

  ledger(): readonly LedgerRow[] {
    return this.run.machine.views.ledger(this.run.state);
  }

  events(query: EventsQuery | undefined): readonly StepEvent[] {
    return eventsOf(this.run.state, query);
  }

  proposal(): ProposalSummary | null {
    return this.run.machine.views.proposal(this.run.state);
  }

  /** A message that was counted before is accepted again, so that its sender gets the outcome. */
  validate(name: MessageName, body: unknown, updateId: string): void {
    const reading = readMessage(name, body, updateId);
    const verdict = judge(this.run.state, reading);
    if (verdict.kind === 'refused') throw refuseUpdate(verdict.message);
    if (reading.kind === 'message') refuseSecret(reading.message);
  }

  update(
    name: MessageName,
    body: unknown,
    updateId: string,
  ): DecideOutcome | Promise<DecideOutcome> {
    const verdict = judge(this.run.state, readMessage(name, body, updateId));
    if (verdict.kind === 'counts') return this.take(verdict.request);
    const { decision, message } = verdict;
    return { outcome: 'already_resolved', decision, message };
  }

  signal(name: MessageName, body: unknown): void | Promise<void> {
    this.run.long.heard();
    const reading = readMessage(name, body);
    const verdict = judge(this.run.state, reading);
    if (verdict.kind !== 'counts') {
      this.ignore(this.summaryOf(reading, name, body), verdict.message);
      return;
    }
    const outcome = this.take(verdict.request);
    if (outcome instanceof Promise) return outcome.then(() => undefined);
    if (outcome.outcome === 'already_resolved')
      this.ignore(this.summaryOf(reading, name, body), outcome.message);
  }

  ownSignal(read: OwnSignal<S, F>['read'], body: unknown): void {
    this.run.long.heard();
    this.run.dispatch(read(this.run.state, body));
  }

  unknownSignal(name: string): void {
    this.run.long.heard();
    this.ignore(
      shown(this.run.state, name),
      `not a signal of this run; messages are: ${Object.values(MESSAGES).join(', ')}`,
    );
  }

  /** Takes up a request that counts. A host looks first at an answer that must be signed, and at the place of a move. */
  private take(request: DecisionRequest): DecideOutcome | Promise<DecideOutcome> {
    const { approvers } = this.run.state;
    const signers = UNSIGNED_ANSWERS.includes(request.answer) ? undefined : approvers;
    const isNamed = request.decision === this.run.state.decision?.id;
    return isNamed && (signers !== undefined || request.answer === 'move')
      ? this.takeChecked(request, signers)
      : this.count(request);
  }

  private count(request: DecisionRequest): DecideOutcome {
    const before = this.run.state;
    const message = this.run.take(request);
    return message === null
      ? outcomeOf(before, this.run.state, request)
      : { outcome: 'already_resolved', decision: request.decision, message };
  }

  private async takeChecked(request: DecisionRequest, signers?: BlobRef): Promise<DecideOutcome> {
    const checked = await this.check(request, signers);
    if (typeof checked === 'string') {
      this.ignore(`${request.answer} ${request.decision}`, checked);
      return { outcome: 'ignored', decision: request.decision, message: checked };
    }
    // The state may have changed while the host looked.
    const validation = validateDecision(this.run.state, checked);
    return validation.counts
      ? this.count(checked)
      : {
          outcome: 'already_resolved',
          decision: request.decision,
          message: validation.message,
        };
  }

  /** Returns the request with the name of its signer, or the reason why it does not count. */
  private async check(
    request: DecisionRequest,
    signers: BlobRef | undefined,
  ): Promise<DecisionRequest | string> {
    const { machine, state, calls } = this.run;
    const move = request.answer === 'move' ? (machine.move?.(state, request) ?? 'it stays') : null;
    if (typeof move === 'string') return move;
    // The host that the run leaves checks nothing any more.
    const host: Host = {
      calls: move === null ? calls : callsOf(move.input),
      stepKey: state.input.stepKey,
    };
    const signed = signers === undefined ? request : await this.checkSigner(request, signers, host);
    if (typeof signed === 'string' || move === null) return signed;
    return (await checkPlace(move, host)) ?? signed;
  }

  private async checkSigner(
    request: DecisionRequest,
    approvers: BlobRef,
    host: Host,
  ): Promise<DecisionRequest | string> {
    const proposal = this.run.state.decision?.proposalId ?? null;
    const verdict =
      request.signed === undefined
        ? { why: 'it is not signed' }
        : await ask('verifyDecision', `check who signed ${request.answer}`, host, {
            approvers,
            proposal,
            request,
          });
    if ('why' in verdict) return `one of the approvers must sign it, but ${verdict.why}`;
    return { ...request, by: { ...request.by, name: verdict.signer, signer: verdict.signer } };
  }

  /** Names a message in the record of ignored ones. */
  private summaryOf(reading: Reading, name: MessageName, body: unknown): string {
    if (reading.kind === 'faulty') return `${name} ${shown(this.run.state, body)}`;
    const { answer, decision } = reading.message;
    return shown(this.run.state, decision === null ? answer : `${answer} ${decision}`);
  }

  private ignore(what: string, why: string): void {
    this.run.dispatch({ type: 'ignored', what, why });
  }
}

/** The activities of the host that looks at an answer. */
interface Host {
  readonly calls: Calls;
  readonly stepKey: StepKey;
}

/** Returns null, or the reason why the run cannot move to the place. */
const checkPlace = async (move: Move<RunState['input']>, host: Host): Promise<string | null> =>
  (await ask('checkMove', `look at ${move.asked.workspace}`, host, move.asked)).why ?? null;

/** Runs an activity whose result the history keeps. */
async function ask<N extends 'verifyDecision' | 'checkMove'>(
  activity: N,
  words: string,
  { calls, stepKey }: Host,
  input: Asked<N>,
): Promise<ResultOf<N> | { readonly why: string }> {
  const call = calls(activity, words as Words<N>);
  try {
    return await CancellationScope.nonCancellable(() => call({ stepKey, log: [], ...input }));
  } catch (error) {
    return { why: `it could not be checked: ${failureOf(error, activity).message}` };
  }
}

/** Throws if an update holds a secret: a refused update is in no history. Emend's own commands replace secrets before they send anything. */
export const refuseSecret = ({ parts: { note = '', set = {} } }: Message): void => {
  if (tokensIn([note, ...Object.values(set)].join('\n')).length > 0)
    throw refuseUpdate(
      'the note or a setting contains what looks like a secret, which the history would keep: send it without',
    );
};
