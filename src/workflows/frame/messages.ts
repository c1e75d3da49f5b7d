/** Messages and queries of a run: their typed definitions, which `emend/workflows` exports, and the registration of their handlers. */
import { RawValue } from '@temporalio/common';
import {
  currentUpdateInfo,
  defineQuery,
  defineSignal,
  defineUpdate,
  setDefaultSignalHandler,
  setHandler,
  type QueryDefinition,
  type SignalDefinition,
} from '@temporalio/workflow';
import type { DecideOutcome } from '../../shared/decisions.js';
import type { StepEvent } from '../../shared/events.js';
import { MESSAGES, type MessageBodies, type MessageName } from '../../shared/messages.js';
import { PLAN_SIGNALS, QUERIES, QUERY_ANSWER } from '../../shared/names.js';
import type { ProposalSummary } from '../../shared/proposal-activities.js';
import type { EventsQuery, FullStatus, LedgerRow, StatusQuery } from '../../shared/run.js';
import { isOverInline } from './details.js';
import type { OwnSignal } from './machine.js';

/** Asks what the run does or waits for; with `{"full": true}` also for ledger and proposal. */
export const status = defineQuery<FullStatus, [StatusQuery | undefined]>(QUERIES.status);
/** Asks for the status of each target file. */
export const ledger = defineQuery<readonly LedgerRow[]>(QUERIES.ledger);
/** Asks for the events, in order. */
export const events = defineQuery<readonly StepEvent[], [EventsQuery | undefined]>(QUERIES.events);
/** Asks for the proposal: its files, findings and tolerances. Null: there is none. */
export const proposal = defineQuery<ProposalSummary | null>(QUERIES.proposal);

/** Applies the proposal. The body is the id of the decision that was seen, alone or in an object. */
export const approve = defineUpdate<DecideOutcome, [MessageBodies['approve']]>(MESSAGES.approve);
/** Leaves the files unchanged. */
export const skip = defineUpdate<DecideOutcome, [MessageBodies['skip']?]>(MESSAGES.skip);
/** Tries again; with `reason` only in a run that waits for that reason. */
export const retry = defineUpdate<DecideOutcome, [MessageBodies['retry']?]>(MESSAGES.retry);
/** Asks the model again, with a note that says what to change. */
export const revise = defineUpdate<DecideOutcome, [MessageBodies['revise']]>(MESSAGES.revise);
/** Ends the run and rolls back uncommitted changes. */
export const abort = defineUpdate<DecideOutcome, [MessageBodies['abort']?]>(MESSAGES.abort);
/** Gives any answer to the open decision. */
export const answer = defineUpdate<DecideOutcome, [MessageBodies['answer']]>(MESSAGES.answer);

/** Like the update `approve`; the server keeps it until a worker is available. */
export const approveSignal = defineSignal<[MessageBodies['approve']]>(MESSAGES.approve);
/** Like the update `skip`; the server keeps it until a worker is available. */
export const skipSignal = defineSignal<[MessageBodies['skip']?]>(MESSAGES.skip);
/** Like the update `retry`; the server keeps it until a worker is available. */
export const retrySignal = defineSignal<[MessageBodies['retry']?]>(MESSAGES.retry);
/** Like the update `revise`; the server keeps it until a worker is available. */
export const reviseSignal = defineSignal<[MessageBodies['revise']]>(MESSAGES.revise);
/** Like the update `abort`; the server keeps it until a worker is available. */
export const abortSignal = defineSignal<[MessageBodies['abort']?]>(MESSAGES.abort);
/** Like the update `answer`; the server keeps it until a worker is available. */
export const answerSignal = defineSignal<[MessageBodies['answer']]>(MESSAGES.answer);

/** What the Temporal UI shows in its dialogs. */
const DESCRIPTIONS: Readonly<Record<MessageName, string>> = {
  approve: 'Apply the proposal; body: "<id of the decision>" or {"decision": "<id>"}',
  skip: 'Leave the files unchanged; the body may be empty while one decision is open',
  retry:
    'Try again; the body may be empty while one decision is open, or {"reason": "model_unavailable"}; "note" and "set" are optional',
  revise: 'Ask the model again; body: {"decision": "<id>", "note": "<what to change>"}',
  abort: 'End the run and roll back uncommitted changes; the body may be empty',
  answer:
    'Any answer to the open decision; body: {"decision": "<id>", "answer": "<answer>"}; "files", "note", "set" and "select" are optional',
};

/** Signals for a plan: reports by which it is revised before the next phases begin. */
export const PLAN_REPORTS: readonly (readonly [
  'scope_drift' | 'person',
  SignalDefinition<[unknown]>,
  string,
])[] = [
  [
    'scope_drift',
    defineSignal<[unknown]>(PLAN_SIGNALS.drift),
    'Work missing from the plan; body: {"text": "<what>", "by": "<name>"}',
  ],
  [
    'person',
    defineSignal<[unknown]>(PLAN_SIGNALS.replan),
    'What to change in the plan; body: {"text": "<what>", "by": "<name>"}',
  ],
];
/** Signals for a plan; each takes effect between phases. */
export const PLAN_CONTROLS: readonly (readonly [
  'pause' | 'resume' | 'stop',
  SignalDefinition<[unknown]>,
  string,
])[] = [
  [
    'pause',
    defineSignal<[unknown]>(PLAN_SIGNALS.pause),
    'Wait before the next phase; body: {"by": "<name>"} or nothing',
  ],
  [
    'resume',
    defineSignal<[unknown]>(PLAN_SIGNALS.resume),
    'Continue after a pause; cancels a requested stop',
  ],
  ['stop', defineSignal<[unknown]>(PLAN_SIGNALS.stop), 'End the run after the current phase'],
];

/** Receives what is sent to a run. Nothing but `validate` throws. */
export interface Receiver<S, F> {
  status(query: StatusQuery | undefined): FullStatus;
  ledger(): readonly LedgerRow[];
  events(query: EventsQuery | undefined): readonly StepEvent[];
  proposal(): ProposalSummary | null;
  /** Throws if the update would not count: then it writes nothing to the history. Reads only. */
  validate(name: MessageName, body: unknown, updateId: string): void;
  update(
    name: MessageName,
    body: unknown,
    updateId: string,
  ): DecideOutcome | Promise<DecideOutcome>;
  signal(name: MessageName, body: unknown): void | Promise<void>;
  ownSignal(read: OwnSignal<S, F>['read'], body: unknown): void;
  unknownSignal(name: string): void;
}

/**
 * Registers all handlers of a run. Call it before the first await. Signals that came before the first task are delivered while their
 * handlers are set, so a history replays only with this order.
 */
export function registerHandlers<S, F>(
  receiver: Receiver<S, F>,
  ownSignals: readonly OwnSignal<S, F>[] = [],
): void {
  registerQueries(receiver);
  for (const { signal, description, read } of ownSignals)
    setHandler(signal, (body) => receiver.ownSignal(read, body), { description });
  for (const name of Object.values(MESSAGES)) {
    const description = DESCRIPTIONS[name];
    setHandler(updateOf(name), (body) => receiver.update(name, body, updateId()), {
      description,
      validator: (body) => receiver.validate(name, body, updateId()),
    });
    setHandler(defineSignal<[unknown]>(name), (body) => receiver.signal(name, body), {
      description,
    });
  }
  // It comes last, as it takes the signals whose handlers are not set yet.
  setDefaultSignalHandler((name) => receiver.unknownSignal(name));
}

/** A message as an update, with an unchecked body. */
export const updateOf = (
  name: MessageName,
): ReturnType<typeof defineUpdate<DecideOutcome, [unknown]>> =>
  defineUpdate<DecideOutcome, [unknown]>(name);

/** The id of the update whose validator or handler runs. */
export const updateId = (): string => currentUpdateInfo()?.id ?? '';

/** Registers the queries of a run. Later ones replace earlier ones. */
export function registerQueries(
  receiver: Pick<Receiver<never, never>, 'status' | 'ledger' | 'events' | 'proposal'>,
): void {
  answerQuery(
    status,
    (query) => receiver.status(query),
    'What the run does or waits for; with {"full": true} also ledger and proposal',
  );
  answerQuery(ledger, () => receiver.ledger(), 'Each target file: status, attempts, reason');
  answerQuery(events, (query) => receiver.events(query), 'What happened, in order');
  answerQuery(proposal, () => receiver.proposal(), 'The proposal: files, findings, tolerances');
}

/**
 * Answers a query. No history holds an answer, so no blob may: a large one is marked, so that the codec (src/temporal/payloads.ts) leaves it
 * in the message. A small one is not touched by the codec. It stays without a mark, as the `temporal` command prints only unmarked JSON.
 */
export const answerQuery = <R, A extends unknown[]>(
  query: QueryDefinition<R, A>,
  answerOf: (...args: A) => R,
  description: string,
): void => {
  const markLarge = (...args: A): R => {
    const value = new RawValue(answerOf(...args));
    const { metadata, ...payload } = value.payload;
    if (!isOverInline(payload.data?.byteLength ?? 0)) return value as R;
    return RawValue.fromPayload({
      ...payload,
      metadata: { ...metadata, [QUERY_ANSWER]: Uint8Array.of(1) },
    }) as R;
  };
  setHandler(query, markLarge, { description });
};
