/** What the client functions work with: the stores of this machine and, where a server answers, the runs on it. */
import { problem, ProblemError, sentence, type Problem } from '../shared/problems.js';
import { WORKFLOWS, workflowQueues, type Queues } from '../shared/names.js';
import type { DecideOutcome, DecisionRequest } from '../shared/decisions.js';
import type { StepEvent } from '../shared/events.js';
import type { StepKey } from '../shared/ids.js';
import type { RunWords, StepResult, StepStatus } from '../shared/run.js';
import type { EditStepInput, PlanInput } from '../shared/start-input.js';
import type { RunRequest } from '../shared/run-options.js';
import type { Timings } from '../shared/limits.js';
import type { Stores } from '../stores/ports.js';
import type { ServerPlace } from '../temporal/connection.js';
import type { SeenGroup } from '../temporal/live-workers.js';

/** One run on the server. `runId` null: the newest run of the workflow id. */
export interface RunRef {
  readonly workflowId: string;
  readonly runId: string | null;
}

/** What the memo of a run says, readable with no worker. */
export interface RunMemo extends Omit<RunWords, 'doing'>, Pick<StepStatus, 'left'> {
  /** Id of the home whose host has the workspace. */
  readonly host: string;
}

/** What a run waits for. */
export interface Waits {
  readonly reason: string;
  /** Id of the open decision; null: it is a plan that somebody paused. */
  readonly decision: string | null;
}

/** What the server knows of a run without asking it: Temporal's own record with the memo and the search attributes that Emend writes. */
export interface DescribedRun {
  readonly workflowId: string;
  readonly runId: string;
  /** Name of the workflow. */
  readonly type: string;
  /** Temporal's word: RUNNING, COMPLETED, FAILED, CANCELLED, TERMINATED… */
  readonly status: string;
  readonly open: boolean;
  /** Null: it is no workflow of Emend. */
  readonly memo: RunMemo | null;
  /** Null: it waits for nobody. */
  readonly waits: Waits | null;
  /** How it ended; null: it has not. A record that is late may still call it open. */
  readonly outcome: string | null;
  readonly historyLength: number;
  readonly startedAt: Date;
  readonly closedAt: Date | null;
  readonly queue: string;
}

/** How a run ended. `result` null: it was terminated, cancelled from outside or failed; `message` says how. */
export interface ClosedRun {
  readonly status: string;
  readonly result: StepResult | null;
  readonly message: string | null;
}

/** The memo that a run is started with. The run adds its key. */
export type StartMemo = Omit<RunMemo, 'stepKey' | 'left'>;

export interface StartRequest extends RunRequest<EditStepInput | PlanInput> {
  readonly kind: 'job' | 'plan';
  readonly memo: StartMemo;
}

export type UpdateOutcome =
  | { readonly kind: 'answered'; readonly outcome: DecideOutcome }
  /** The validator said no; its words. */
  | { readonly kind: 'refused'; readonly message: string }
  /** Accepted, so it is in the history; its answer did not come in time. */
  | { readonly kind: 'accepted' }
  /** No worker took it in time. It is not withdrawn: it may still arrive. */
  | { readonly kind: 'not_accepted' }
  | { readonly kind: 'closed' };

/** What new pages of a run's history tell. */
export interface News {
  /** `change`: its state may have changed. `pause`: it stands still, or began the run of a phase, so it must be asked. `end`: it has ended. */
  readonly kind: 'change' | 'pause' | 'end';
  /** Events of the run that these pages hold. */
  readonly events: readonly StepEvent[];
  /** Name of the activity that was scheduled last; null: none was. */
  readonly activity: string | null;
}
/** The Temporal server as the client functions need it. The one adapter is client/gateway.ts; tests use a fake. */
export interface RunGateway {
  /** `exists`: a run of this workflow id is open. */
  start(
    request: StartRequest,
  ): Promise<
    | { readonly outcome: 'started'; readonly runId: string; readonly stepKey: StepKey }
    | { readonly outcome: 'exists' }
  >;
  /** Null: the server knows no such run (never did, or no longer). */
  describe(ref: RunRef): Promise<DescribedRun | null>;
  /** Newest first, at most `limit`; `filter` is a visibility query. Pages hold 1,000 runs. No action. */
  list(filter: string, limit: number): Promise<readonly DescribedRun[]>;
  /** Number of runs that a visibility query finds. No action. */
  count(filter: string): Promise<number>;
  /** Throws ProblemError `no_worker` when nobody answers within `timeout_ms`. One action. */
  query<T>(ref: RunRef, name: string, args: readonly unknown[], timeout_ms: number): Promise<T>;
  update(ref: RunRef, request: DecisionRequest, accept_ms: number): Promise<UpdateOutcome>;
  /** False: the run is closed or unknown. */
  signal(ref: RunRef, name: string, payload: unknown): Promise<boolean>;
  /** Does a live worker serve this task queue? `doubted`: one did not answer, so it must give a sign of life now. No action. */
  polled(queue: string, doubted?: boolean): Promise<boolean>;
  /** Returns those of a run's task queues that no live worker serves. All begin with `group`, the queue of its workflow. No action. */
  silent(group: string, queues: readonly string[], doubted?: boolean): Promise<readonly string[]>;
  /** Returns when a task of the run has waited for a worker for 5 s, or `signal` aborts. No action. */
  untilLate(ref: RunRef, signal: AbortSignal): Promise<void>;
  /**
   * Workers that the server knows of, also those that are gone, at task queues whose names begin with `group`. `needed`: queues that somebody
   * must serve; `others`: queues that somebody may serve. No action.
   */
  seenAt(group: string, needed: readonly string[], others?: readonly string[]): Promise<SeenGroup>;
  /**
   * Calls `onNews` each time the run's history has grown past event `after` in a way that can change its state. Calls may
   * overlap. Returns when the run is closed or `signal` aborts, and what was called has ended.
   * No action.
   */
  follow(
    ref: RunRef,
    after: number,
    signal: AbortSignal,
    onNews: (news: News) => Promise<void>,
  ): Promise<void>;
  /** Waits at most `wait_ms` for the end of a run, in long polls. Returns also if there is no such run, or `signal` aborts. No action. */
  untilEnd(ref: RunRef, wait_ms: number, signal: AbortSignal): Promise<void>;
  /** Waits for the end of a closed (or closing) run. */
  closed(run: DescribedRun): Promise<ClosedRun>;
  /**
   * Why the run's workflow task fails over and over (a lost value, an unknown version); null: it does not. Throws ProblemError as any call.
   */
  taskFailure(ref: RunRef): Promise<string | null>;
  /** The events that the run's history holds (its activities' inputs carry them): all up to the last activity that was scheduled. */
  historyEvents(ref: RunRef): Promise<readonly StepEvent[]>;
  /** All payloads of the run's history as text, in which references can be looked for. */
  historyText(ref: RunRef): Promise<string>;
  /** Are the search attributes registered (created here where that is allowed)? */
  searchAttributes(): Promise<boolean>;
}

/** One `EMEND_HOME` with its store and, where one answers, the server. */
export interface Emend extends ServerPlace, Stores {
  readonly home: string;
  /** What all homes that work together share: an absolute path (the home itself unless `EMEND_STORE` is set), or `s3://bucket/prefix`. */
  readonly store: string;
  readonly timings: Timings;
  readonly queues: Queues;
  /** Null: no server answers; `unreachable` says why. */
  readonly runs: RunGateway | null;
  readonly unreachable: Problem | null;
  close(): Promise<void>;
}

export const noServer = ({ unreachable }: Pick<Emend, 'unreachable'>): Problem =>
  unreachable ?? problem('no_server', 'No Temporal server is reachable.');
/** Why there is none, and what to type. */
export const noServerNote = (emend: Pick<Emend, 'unreachable'>): string =>
  sentence(noServer(emend));
/** Throws ProblemError `no_server`, with the reason, when there is none. */
export const needRuns = (emend: Pick<Emend, 'runs' | 'unreachable'>): RunGateway => {
  if (emend.runs === null) throw new ProblemError(noServer(emend));
  return emend.runs;
};

/** A visibility query for Emend's own workflows. */
export const OUR_WORKFLOWS = `WorkflowType IN (${Object.values(WORKFLOWS)
  .map((name) => `"${name}"`)
  .join(', ')})`;

/** A visibility query for the runs that our workers take: a server may hold those of others. */
export const ourRuns = ({ queues }: Pick<Emend, 'queues'>): string => {
  const names = workflowQueues(queues).map((name) => `"${name}"`);
  return `${OUR_WORKFLOWS} AND TaskQueue IN (${names.join(', ')})`;
};
