/** Signals, updates and queries as the workflow and its clients name them (src/shared/step-activities.ts). */
import { RawValue } from '@temporalio/common';
import {
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
  type QueryDefinition,
} from '@temporalio/workflow';
import type { Answer, DecideOutcome } from '../../shared/decisions.js';
import type { StepEvent } from '../../shared/events.js';
import { PLAN_SIGNALS, QUERIES, QUERY_ANSWER, SIGNALS, UPDATES } from '../../shared/names.js';
import type { EventsQuery, FullStatus, LedgerRow, StatusQuery } from '../../shared/run.js';
import type { ProposalSummary } from '../../shared/proposal-activities.js';
import { isOverInline } from './details.js';

export const status = defineQuery<FullStatus, [StatusQuery | undefined]>(QUERIES.status);
export const ledger = defineQuery<readonly LedgerRow[]>(QUERIES.ledger);
export const events = defineQuery<readonly StepEvent[], [EventsQuery | undefined]>(QUERIES.events);
export const proposal = defineQuery<ProposalSummary | null>(QUERIES.proposal);

/**
 * Answers a query. No history holds an answer, so no blob may: a large one is marked, so that the codec (src/temporal/payloads.ts) leaves it
 * in the message. A small one is not touched by the codec. It stays without a mark, as the `temporal` command prints only unmarked JSON.
 */
export const answerQuery = <R, A extends unknown[]>(
  query: QueryDefinition<R, A>,
  answer: (...args: A) => R,
  description: string,
): void => {
  const markLarge = (...args: A): R => {
    const value = new RawValue(answer(...args));
    const { metadata, ...payload } = value.payload;
    if (!isOverInline(payload.data?.byteLength ?? 0)) return value as R;
    return RawValue.fromPayload({
      ...payload,
      metadata: { ...metadata, [QUERY_ANSWER]: Uint8Array.of(1) },
    }) as R;
  };
  setHandler(query, markLarge, { description });
};

export const decide = defineUpdate<DecideOutcome, [unknown]>(UPDATES.decide);
export const decideSignal = defineSignal<[unknown]>(SIGNALS.decide);

export const abortSignal = defineSignal<[unknown]>(SIGNALS.abort);

const signal = (name: string): ReturnType<typeof defineSignal<[unknown]>> =>
  defineSignal<[unknown]>(name);
const body = 'body: {"decision": "<id>"}';
/** The short signals that a person can send from the Temporal UI or with `temporal workflow signal`. */
export const SHORT_SIGNALS: readonly (readonly [Answer, ReturnType<typeof signal>, string])[] = [
  ['approve', signal(SIGNALS.approve), `Apply the proposal; ${body}`],
  ['skip', signal(SIGNALS.skip), `Leave the files unchanged; ${body}`],
  ['retry', signal(SIGNALS.retry), `Try again; ${body}, "note" and "set" are optional`],
  ['abort', abortSignal, 'End the run and roll back uncommitted changes; the body may be empty'],
];
/** To a plan: words of a person by which it is revised, before the next phases begin. */
export const PLAN_REPORTS: readonly (readonly [
  'scope_drift' | 'person',
  ReturnType<typeof signal>,
  string,
])[] = [
  [
    'scope_drift',
    signal(PLAN_SIGNALS.drift),
    'Work missing from the plan; body: {"text": "<what>", "by": "<name>"}',
  ],
  [
    'person',
    signal(PLAN_SIGNALS.revise),
    'What to change in the plan; body: {"text": "<what>", "by": "<name>"}',
  ],
];
/** To a plan; each takes effect between phases. */
export const PLAN_CONTROLS: readonly (readonly [
  'pause' | 'resume' | 'stop',
  ReturnType<typeof signal>,
  string,
])[] = [
  [
    'pause',
    signal(PLAN_SIGNALS.pause),
    'Wait before the next phase; body: {"by": "<name>"} or nothing',
  ],
  ['resume', signal(PLAN_SIGNALS.resume), 'Continue after a pause; cancels a requested stop'],
  ['stop', signal(PLAN_SIGNALS.stop), 'End the run after the current phase'],
];
