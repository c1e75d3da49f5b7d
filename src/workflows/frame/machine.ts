/**
 * What runs as a workflow: a state, the next move by that state alone, and facts that are folded into it. A machine performs moves of its
 * own, each with its activity call; what all machines have in common the frame does (run.ts).
 */
import type { SignalDefinition } from '@temporalio/workflow';
import type { ActivityName, ResultOf } from '../../shared/activities.js';
import type { DecisionRequest, Pause, PauseReason } from '../../shared/decisions.js';
import { NO_EVENTS, type EventLog } from '../../shared/events.js';
import type { Problem } from '../../shared/problems.js';
import type { ActivityBase, ProposalSummary } from '../../shared/proposal-activities.js';
import type {
  LedgerRow,
  OpenOnHost,
  RunSetup,
  StepOutcome,
  StepResult,
  StepStatus,
} from '../../shared/run.js';
import { NO_USAGE, type StepUsage } from '../../shared/usage.js';
import type { Asked, Calls, Words } from './activities.js';
import { NO_DECISIONS, type DecisionState } from './decisions/state.js';
import type { Fields } from './input.js';
import type { LongRun } from './long-run.js';

/** What every run has: its input, its time, what it used, its events and decisions. */
export interface RunState<I = RunSetup> extends DecisionState, EventLog {
  readonly input: I;
  readonly startedAt: number;
  readonly usage: StepUsage;
  readonly stage: { readonly at: string } | Closed<StepOutcome>;
  readonly abortedBy: string | null;
  /** Aborted without its host, which cleans up once it is there again; null: nothing is open there. */
  readonly openOnHost: OpenOnHost | null;
  /** Where it was before it was moved; absent: it was not. */
  readonly left?: readonly OpenOnHost[];
}
/** What every run begins with. */
export const begin = <I extends RunSetup>(input: I, now: number): Omit<RunState<I>, 'stage'> => ({
  input,
  startedAt: now,
  usage: NO_USAGE,
  abortedBy: null,
  openOnHost: null,
  ...NO_DECISIONS,
  ...NO_EVENTS,
});

/** The state with some of a part changed. */
export const within = <S extends object, P extends keyof S>(
  state: S,
  part: P,
  change: Partial<S[P]>,
): S => ({
  ...state,
  [part]: { ...state[part], ...change },
});

/** The stage of a run that has ended: its outcome stands. */
export interface Closed<O> {
  readonly at: 'closed';
  readonly outcome: O;
  readonly problem: Problem | null;
}

/** Moves that are performed for every machine. */
export type FrameEffect =
  | { readonly kind: 'pause'; readonly pause: Pause }
  /** A decision point is open: wait for its answers. */
  | { readonly kind: 'await_decision' }
  /** Wait before asking again for a busy workspace. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** Wait for a model that is down. */
  | { readonly kind: 'back_off'; readonly ms: number }
  | { readonly kind: 'finish' };

/** Facts that are told to every machine, by their type. */
export interface FrameFacts {
  paused: { pause: Pause };
  decided: { request: DecisionRequest };
  ignored: { what: string; why: string };
  waited: object;
  /** What its own calls used by the journal; null: it could not be counted. */
  usage_counted: { usage: StepUsage | null };
  /** So many moves in a row waited for nothing. */
  no_progress: { effects: number };
  abort: { by: string };
}
/** One of `F`, of one type or of one of several. */
export type FactOf<F, T extends keyof F = keyof F> = {
  [N in T]: { readonly type: N } & Readonly<F[N]>;
}[T];
export type FrameFact = FactOf<FrameFacts>;
/** Folds each fact into the state. `now` is workflow time, ms since the epoch. */
export type Folds<S, F> = {
  readonly [T in keyof F]: (state: S, fact: FactOf<F, T>, now: number) => S;
};

/** An activity that failed for good. A machine adds what it was about. */
export interface ActivityFailed {
  readonly activity: ActivityName;
  readonly reason: PauseReason;
  readonly message: string;
}

export type Move<I> = { readonly input: I; readonly asked: Asked<'checkMove'> };

/** A signal that only one kind of run has. `read` makes a fact of its body and never throws. */
export interface OwnSignal<S, F> {
  readonly signal: SignalDefinition<[unknown]>;
  readonly description: string;
  readonly read: (state: S, body: unknown) => F;
}

/** `F`: its facts; `M`: its own moves; `A`: what a call of an activity may be about. */
export interface Machine<S extends RunState, F, M extends { readonly kind: string }, A> {
  readonly kind: 'job' | 'plan';
  /** Fields of what it goes by, in addition to those of every run. */
  readonly setupFields: Fields;
  initial(input: S['input'], now: number): S;
  /** `long`: the history of the run should not grow any further. */
  next(state: S, now: number, long: boolean): M | FrameEffect;
  reduce(state: S, fact: F | FrameFact, now: number): S;
  perform(move: M, run: RunIo<S, F, A>): Promise<void> | void;
  /** What a host's work is told beside what each call says. */
  onHost?(state: S): Pick<ActivityBase, 'repository' | 'held' | 'marked'>;
  /** Where a decision moves it, and what must be there; a text: why it cannot go there. Absent: it stays. */
  move?(state: S, request: DecisionRequest): Move<S['input']> | string;
  failed(fact: ActivityFailed & { readonly type: 'activity_failed' }, about: A | undefined): F;
  /** No move is left: after an abort or a cancel, too, and not to be cut short. */
  end(run: RunIo<S, F, A>): Promise<void> | void;
  readonly views: {
    status(state: S): StepStatus;
    ledger(state: S): readonly LedgerRow[];
    proposal(state: S): ProposalSummary | null;
    /** Markdown for the Temporal UI. */
    details(state: S): string;
    result(state: S): StepResult;
  };
  /** Every abort waits for the move under way, and waits are cut short by it. Else it waits only where something is under way. */
  readonly abortsBetweenEffects: boolean;
  /** Signals in addition to the messages that bring decisions. */
  readonly signals?: readonly OwnSignal<S, F>[];
  /** The state that the next run takes over. */
  carried?(state: S): S;
}

/** What a machine performs its moves with. */
export interface RunIo<S, F, A> {
  /** As it is now. */
  readonly state: S;
  /** A person wants its end, and the move under way ends first. */
  readonly aborting: boolean;
  readonly long: Pick<LongRun, 'wait' | 'ready'>;
  /** Activities whose results are no facts; their failures are thrown. */
  readonly calls: Calls;
  dispatch(fact: F | FrameFact): void;
  /** Work that must come to its end once begun (◆ apply, rollback, commit): no abort and no cancel cuts it short. */
  call<N extends ActivityName>(...of: CallOf<N, F, A>): Promise<void>;
  /** Work that an abort may cut short: model calls and tests. */
  callInterruptibly<N extends ActivityName>(...of: CallOf<N, F, A>): Promise<void>;
  /** Whatever ran in it has ended when this returns. */
  interruptibly(work: () => Promise<void>): Promise<void>;
  /** The archive hears of what happened. */
  tell(): void;
  showWaiting(reason: string): void;
  /** The same in a new run; returns where the run is to end here. */
  goOn(): Promise<void>;
}
export type CallOf<N extends ActivityName, F, A> = [
  activity: N,
  words: Words<N, { readonly about?: A }>,
  input: Asked<N>,
  then: (result: ResultOf<N>) => F,
];
