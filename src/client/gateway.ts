/** The one place where the client functions speak to Temporal. */
import { setMaxListeners } from 'node:events';
import { status } from '@grpc/grpc-js';
import {
  type Client,
  type ConnectionLike,
  type WorkflowExecutionDescription,
  type WorkflowExecutionInfo,
  type WorkflowHandle,
  QueryNotRegisteredError,
  QueryRejectedError,
  WorkflowContinuedAsNewError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
// The SDK's own list reads a run at a time: of 10,000 that takes twice as long.
import { ApplicationFailure } from '@temporalio/common';
import { problem, ProblemError, isKnown, sentence, unknownVersion } from '../shared/problems.js';
import { MESSAGES } from '../shared/messages.js';
import { SEARCH_ATTRIBUTES, WORKFLOWS } from '../shared/names.js';
import { isRecord } from '../shared/text.js';
import { runKey } from '../shared/run-key.js';
import { runOptions } from '../shared/run-options.js';
import type { StepResult } from '../shared/run.js';
import type { DecideOutcome, DecisionRequest } from '../shared/decisions.js';
import { together } from '../system/together.js';
import { ensureSearchAttributes } from '../temporal/search-attributes.js';
import { liveWorkers, runsCommands, workersOf } from '../temporal/live-workers.js';
import { keyOfRun } from './cron-key.js';
import { asProblem, followHistory, eventsIn, hasCode } from './history.js';
import { tasksOf, untilLate } from './late-tasks.js';
import { priorityOf } from './priority.js';
import type {
  ClosedRun,
  DescribedRun,
  RunGateway,
  RunMemo,
  RunRef,
  StartRequest,
  UpdateOutcome,
} from './types.js';

const LIST_PAGE_RUNS = 1_000; // bound: Runs of one page of the server's list; it gives no more.
const SERVED_AGAIN_MS = 2_000; // bound: Of a queue that is served this is asked no more often, as a worker beats no more often.
// bound: Every call that does not wait on purpose is answered within this time, or the server counts as gone.
export const CALL_MS = 10_000;
const LAST_EVENTS = 20; // bound: Events of a history's end among which the failed task stands: nothing but attempts comes after it.

export const createTemporalGateway = (
  client: Client,
  connection: ConnectionLike,
  namespace: string,
): RunGateway => {
  const server: ServerNamespace = { connection, namespace };
  const handleOf = ({ workflowId, runId }: RunRef) =>
    client.workflow.getHandle(workflowId, runId ?? undefined);
  const within = <T>(call: () => Promise<T>): Promise<T> =>
    connection.withDeadline(Date.now() + CALL_MS, call).catch((error: unknown) => {
      throw asProblem(error);
    });

  const codecs = client.options.loadedDataConverter.payloadCodecs;
  const last = new Map<string, number>();
  const recently = lookedRecently();

  return {
    start: async (request) => {
      try {
        const type = request.kind === 'plan' ? WORKFLOWS.plan : WORKFLOWS.editStep;
        const handle = await within(() => client.workflow.start(type, startOptions(request)));
        const { workflowId, firstExecutionRunId: runId } = handle;
        const stepKey = runKey({ namespace, workflowId, firstRunId: runId, cronRunId: null });
        return { outcome: 'started', runId, stepKey };
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return { outcome: 'exists' };
        throw error;
      }
    },

    describe: (ref) =>
      unlessGone(() => within(async () => described(await handleOf(ref).describe(), server)), null),

    list: async (filter, limit) => {
      const pageSize = Math.min(limit, LIST_PAGE_RUNS);
      const runs = await within(() =>
        firstOf(client.workflow.list({ query: filter, pageSize }), limit),
      );
      return together(runs, (run) => within(() => described(run, server)), DESCRIBED_AT_ONCE);
    },

    count: async (filter) => (await within(() => client.workflow.count(filter))).count,

    query: async <T>(
      ref: RunRef,
      name: string,
      args: readonly unknown[],
      timeout_ms: number,
    ): Promise<T> => {
      try {
        return await connection.withDeadline(Date.now() + timeout_ms, () =>
          handleOf(ref).query<T, unknown[]>(name, ...args),
        );
      } catch (error) {
        throw queryProblem(error, ref);
      }
    },

    update: (ref, request, accept_ms) => sendUpdate(client, ref, request, accept_ms),

    signal: (ref, name, payload) =>
      unlessGone(() => within(() => handleOf(ref).signal(name, payload)).then(() => true), false),

    polled: async (queue, doubted = false) => {
      const look = async (): Promise<readonly string[]> => {
        const live = await within(() =>
          liveWorkers({ connection, namespace, queue, last }, doubted),
        );
        return live.length > 0 ? [] : [queue];
      };
      return (await recently(`${queue} ${doubted}`, look)).length === 0;
    },

    runsCommands: (hostQueue) =>
      within(() => runsCommands({ connection, namespace, last }, hostQueue)),

    silent: (group, queues, doubted = false) => {
      const look = async (): Promise<readonly string[]> => {
        const server = { connection, namespace, last };
        const found = await within(() => workersOf(server, group, queues, { doubted }));
        const live = found.workers.flatMap(({ is, queue }) => (is === 'live' ? [queue] : []));
        const known = new Set([...live, ...found.unasked]);
        return queues.filter((queue) => !known.has(queue));
      };
      return recently(`${group} ${queues.join()} ${doubted}`, look);
    },

    untilLate: (ref, signal) =>
      untilLate(() => within(() => tasksOf(connection, namespace, ref)), signal),

    seenAt: (group, needed, others) =>
      within(() =>
        workersOf({ connection, namespace, last }, group, needed, { others: others ?? [] }),
      ),

    follow: (ref, after, signal, onNews) =>
      followHistory(connection, { namespace, ...ref }, { after, signal, codecs }, onNews),

    untilEnd: (ref, wait_ms, signal) => untilEnd(connection, handleOf(ref), wait_ms, signal),

    closed: (run) => closedRun(client, run),

    taskFailure: (ref) => within(() => taskFailure(connection, namespace, ref)),

    historyEvents: async (ref) => {
      const { events } = await within(() => handleOf(ref).fetchHistory());
      return eventsIn(events ?? [], codecs);
    },

    historyText: async (ref) => {
      const { events } = await within(() => handleOf(ref).fetchHistory());
      // A payload's data, JSON in UTF-8, is base64 by now (the messages' own toJSON); references in it are plain ASCII.
      return JSON.stringify(events, (name, value: unknown) =>
        name === 'data' && typeof value === 'string'
          ? Buffer.from(value, 'base64').toString('latin1')
          : value,
      );
    },

    searchAttributes: () => within(() => ensureSearchAttributes(connection, namespace)),
  };
};

const DESCRIBED_AT_ONCE = 16; // bound: Listed runs that are described at a time: of some the server is asked for their key.

/** Returns at most `limit` of the items. */
const firstOf = async <T>(items: AsyncIterable<T>, limit: number): Promise<readonly T[]> => {
  const found: T[] = [];
  for await (const item of items) {
    found.push(item);
    if (found.length === limit) break;
  }
  return found;
};

/** Remembers which queues of a look nobody serves, as it is being asked or was a moment ago. */
const lookedRecently = () => {
  const looks = new Map<string, Promise<readonly string[]>>();
  return (name: string, look: () => Promise<readonly string[]>): Promise<readonly string[]> => {
    const known = looks.get(name);
    if (known !== undefined) return known;
    const found = look();
    const forget = (silent: unknown) => {
      const served = Array.isArray(silent) && silent.length === 0;
      setTimeout(() => looks.delete(name), served ? SERVED_AGAIN_MS : 0).unref();
    };
    found.then(forget, forget);
    looks.set(name, found);
    return found;
  };
};

/** The first failure of a task that is tried again and again is in the history, the later ones are not. */
const taskFailure = async (
  { workflowService }: ConnectionLike,
  namespace: string,
  { workflowId, runId }: RunRef,
): Promise<string | null> => {
  const execution = { workflowId, runId: runId ?? '' };
  const { pendingWorkflowTask } = await workflowService.describeWorkflowExecution({
    namespace,
    execution,
  });
  if ((pendingWorkflowTask?.attempt ?? 0) < 2) return null;
  const newest = { namespace, execution, maximumPageSize: LAST_EVENTS };
  const { history } = await workflowService.getWorkflowExecutionHistoryReverse(newest);
  const failed = (history?.events ?? []).find(
    (event) => event.workflowTaskFailedEventAttributes != null,
  );
  const message = failed?.workflowTaskFailedEventAttributes?.failure?.message ?? null;
  return message !== null && OUT_OF_TIME.test(message) ? null : message;
};

/** Node's or the SDK's limit for one task: the machine was busy or stood still, and the next attempt can pass. */
const OUT_OF_TIME = /^(?:Script execution timed out|\[TMPRL1101\])/;

const unlessGone = <T>(call: () => Promise<T>, gone: T): Promise<T> =>
  call().catch((error: unknown) => {
    if (error instanceof WorkflowNotFoundError) return gone;
    throw error;
  });

const startOptions = (request: StartRequest) => ({
  ...runOptions(request),
  priority: priorityOf(request),
  // While one is open a second start must fail, and a finished one must not stand in the way. No time-out is ever set.
  workflowIdConflictPolicy: 'FAIL' as const,
  workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
});

interface ServerNamespace {
  readonly connection: ConnectionLike;
  readonly namespace: string;
}

const described = async (
  info: WorkflowExecutionDescription | WorkflowExecutionInfo,
  server: ServerNamespace,
): Promise<DescribedRun> => ({
  workflowId: info.workflowId,
  runId: info.runId,
  type: info.type,
  status: info.status.name,
  open: info.status.name === 'RUNNING' || info.status.name === 'PAUSED',
  memo: await memoOf(info, server),
  ...shownBy(info),
  historyLength: info.historyLength,
  startedAt: info.startTime,
  closedAt: info.closeTime ?? null,
  queue: info.taskQueue,
});

/** Reads what the run shows of itself: in search attributes, or in the memo if its namespace has none. */
const shownBy = ({
  memo,
  typedSearchAttributes: attributes,
}: WorkflowExecutionDescription | WorkflowExecutionInfo): Pick<
  DescribedRun,
  'waits' | 'outcome'
> => {
  const attribute = (name: keyof typeof SEARCH_ATTRIBUTES): string | null =>
    attributes.get({ name: SEARCH_ATTRIBUTES[name], type: 'KEYWORD' }) ?? null;
  const outcome = attribute('outcome');
  const [state, reason] = [attribute('state'), attribute('reason')];
  if (state === 'waiting' && reason !== null)
    return { waits: { reason, decision: attribute('decision') }, outcome };
  const kept = memo?.waits;
  const waits =
    isRecord(kept) && typeof kept.reason === 'string'
      ? { reason: kept.reason, decision: typeof kept.decision === 'string' ? kept.decision : null }
      : null;
  return { waits, outcome };
};

/** Returns what the memo says; the run adds its key as soon as a worker has begun it. Null: it is no memo of Emend. */
const memoOf = async (
  { memo, workflowId, runId, raw }: WorkflowExecutionDescription | WorkflowExecutionInfo,
  { connection, namespace }: ServerNamespace,
): Promise<RunMemo | null> => {
  const { stepKey, jobPath, title, workspace, host, left } = memo ?? {};
  const shown = { jobPath, title, workspace, host };
  if (!Object.values(shown).every((value) => typeof value === 'string')) return null;
  const info = ('workflowExecutionInfo' in raw ? raw.workflowExecutionInfo : raw) as {
    readonly firstRunId?: string | null;
  } | null;
  // Older servers do not know it.
  const { firstRunId: first = null } = info ?? {};
  const firstRunId = first === null || first === '' ? runId : first;
  const key = await keyOfRun(connection, { namespace, workflowId, runId, firstRunId }, stepKey);
  return { stepKey: key, ...shown, left } as RunMemo;
};

const untilEnd = async (
  connection: ConnectionLike,
  run: WorkflowHandle,
  wait_ms: number,
  signal: AbortSignal,
): Promise<void> => {
  if (signal.aborted) return;
  // Not a deadline: near it the server answers each long poll at once.
  const wait = new AbortController();
  const leave = (): void => wait.abort();
  const timer = setTimeout(leave, wait_ms);
  signal.addEventListener('abort', leave, { once: true });
  // The SDK leaves a listener for each of its long polls.
  setMaxListeners(0, wait.signal);
  try {
    await connection.withAbortSignal(wait.signal, () => run.result());
  } catch (error) {
    const hasEnded = error instanceof WorkflowFailedError || error instanceof WorkflowNotFoundError;
    if (!hasEnded && !wait.signal.aborted) throw asProblem(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  }
};

const closedRun = async (client: Client, run: DescribedRun): Promise<ClosedRun> => {
  const { workflowId, runId, status } = run;
  try {
    // The chain of a cron workflow never ends: only this run is meant.
    const options = { followRuns: false };
    return completed(await client.workflow.result(workflowId, runId, options));
  } catch (error) {
    if (error instanceof WorkflowContinuedAsNewError) return continuedRun(client, run);
    if (!(error instanceof WorkflowFailedError)) throw asProblem(error);
    return { status, result: null, message: error.cause?.message ?? error.message };
  }
};

const completed = (result: unknown): ClosedRun =>
  isKnown(result)
    ? { status: 'COMPLETED', result: result as StepResult, message: null }
    : {
        status: 'COMPLETED',
        result: null,
        message: sentence(unknownVersion('The result of the run', result)),
      };

/** A run that another one follows: by a cron schedule or a retry policy it has an end of its own, else the run after it has the end. */
const continuedRun = async (
  client: Client,
  { workflowId, runId, status: how }: DescribedRun,
): Promise<ClosedRun> => {
  const { connection, options } = client;
  const { history } = await connection.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: 1,
  });
  const end = history?.events?.[0];
  const { failure } = end?.workflowExecutionFailedEventAttributes ?? {};
  if (failure != null) return { status: how, result: null, message: failure.message ?? how };
  const done = end?.workflowExecutionCompletedEventAttributes;
  if (done == null) return completed(await client.workflow.result(workflowId, runId));
  // Few runs end so: the module is loaded if it is needed.
  const { decodeArrayFromPayloads } =
    await import('@temporalio/common/lib/internal-non-workflow/index.js');
  const [result] = await decodeArrayFromPayloads(
    options.loadedDataConverter,
    done.result?.payloads,
  );
  return completed(result);
};

const sendUpdate = async (
  { workflow, connection, options: { namespace } }: Client,
  { workflowId, runId }: RunRef,
  request: DecisionRequest,
  accept_ms: number,
): Promise<UpdateOutcome> => {
  const updateId = request.requestId;
  const run = workflow.getHandle(workflowId, runId ?? undefined);
  /** Null: nobody heard what came of it. */
  const heard = <T>(limit_ms: number, call: () => Promise<T>): Promise<T | null> =>
    connection.withDeadline(Date.now() + limit_ms, call).catch((error: unknown) => {
      if (hasCode(error, status.DEADLINE_EXCEEDED, status.CANCELLED, status.UNAVAILABLE))
        return null;
      throw error;
    });
  const start = {
    args: [request] as [DecisionRequest],
    updateId,
    waitForStage: 'ACCEPTED',
  } as const;
  const updateRef = { workflowExecution: { workflowId, runId }, updateId };
  try {
    const started = await heard(accept_ms, () =>
      run.startUpdate<DecideOutcome, [DecisionRequest]>(MESSAGES.answer, start),
    );
    if (started === null) {
      const now: { readonly stage: number } = await connection.withDeadline(
        Date.now() + CALL_MS,
        () => connection.workflowService.pollWorkflowExecutionUpdate({ namespace, updateRef }),
      );
      if (now.stage < STAGE.accepted) return { kind: 'not_accepted' };
    }
    const outcome = await heard(CALL_MS, () =>
      (started ?? run.getUpdateHandle<DecideOutcome>(updateId)).result(),
    );
    return outcome === null ? { kind: 'accepted' } : { kind: 'answered', outcome };
  } catch (error) {
    // The server does not know it, or withdrew it: a worker ended its task (while it replayed, say) without a look at it. Nobody has said no.
    if (
      hasCode(error, status.NOT_FOUND) ||
      (error instanceof WorkflowUpdateFailedError && isUnprocessed(error.cause))
    )
      return { kind: 'not_accepted' };
    if (error instanceof WorkflowUpdateFailedError)
      return { kind: 'refused', message: error.cause?.message ?? error.message };
    if (error instanceof WorkflowNotFoundError) return { kind: 'closed' };
    throw asProblem(error);
  }
};
/** By `temporal.api.enums.v1.UpdateWorkflowExecutionLifecycleStage`. One that no worker has seen is at the stage before. */
const STAGE = { accepted: 2 } as const;

/** Source: temporalio/temporal, service/history/workflow/update, `UnprocessedUpdate`. */
const isUnprocessed = (cause: unknown): boolean =>
  cause instanceof ApplicationFailure && cause.type === 'UnprocessedUpdate';

const queryProblem = (error: unknown, { workflowId }: RunRef): unknown => {
  if (hasCode(error, status.DEADLINE_EXCEEDED, status.CANCELLED, status.FAILED_PRECONDITION))
    return new ProblemError(problem('no_worker', `No worker is running for ${workflowId}.`));
  if (error instanceof QueryNotRegisteredError || error instanceof QueryRejectedError)
    return new ProblemError(
      problem(
        'version_unknown',
        `${workflowId} does not know this query; its worker runs another version of Emend.`,
      ),
    );
  return asProblem(error);
};
