/**
 * Follows a run by long polls on its history: the server keeps the request until there is something new, which costs no action. The pages
 * hold the events of the run. A run's state changes only when a workflow task completes or the run closes, so nothing else is news.
 */
import { status } from '@grpc/grpc-js';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionLike, isGrpcServiceError } from '@temporalio/client';
import {
  NamespaceNotFoundError,
  ValueError,
  type Payload,
  type PayloadCodec,
} from '@temporalio/common';
import { problem, ProblemError } from '../shared/problems.js';
import { SEARCH_ATTRIBUTES } from '../shared/names.js';
import { isRecord } from '../shared/text.js';
import { innermost } from '../temporal/failures.js';
import { isEvent } from './archive/run.js';
import type { News, RunRef } from './types.js';
import type { StepEvent } from '../shared/events.js';

const SERVER_LOST_MS = 60_000; // bound: A server that is being restarted is waited for this long.
const FOLLOW_RETRY_MS = 500; // bound: It is asked again this often.
const FOLLOW_POLL_MS = 70_000; // bound: A server that has no news says so within 20 s; one that says nothing for this long, as in Temporal's SDKs, is asked again.
const FOLLOW_PAGE_EVENTS = 500; // bound: History events of one page.

/** Status of a failed call, whether the SDK wrapped it or not; null: not a failed call. */
const grpcCode = (error: unknown): number | null => {
  const cause = isGrpcServiceError(error) || !(error instanceof Error) ? error : error.cause;
  return isGrpcServiceError(cause) ? cause.code : null;
};

export const hasCode = (error: unknown, ...codes: readonly status[]): boolean => {
  const code = grpcCode(error);
  return code !== null && (codes as readonly number[]).includes(code);
};

/** A call over a worker's connection whose deadline is over counts as cancelled there. */
const isNativeTimeout = (error: unknown): boolean =>
  hasCode(error, status.CANCELLED) && innermost(error).why === 'Timeout expired';

const DENIALS = [status.PERMISSION_DENIED, status.UNAUTHENTICATED] as const;
/** What the connection itself does is an expected failure; anything else stays as it is. */
export const asProblem = (error: unknown): unknown => {
  if (error instanceof ValueError) {
    const why = `Runs of this namespace hold values that cannot be read here: ${error.message}.`;
    return new ProblemError(
      problem('config_invalid', why, 'Use the program whose data converter wrote them.'),
    );
  }
  if (hasCode(error, ...DENIALS, status.RESOURCE_EXHAUSTED)) {
    const next =
      'Check TEMPORAL_API_KEY, the TLS certificate and the limits of your namespace, then see `emend list`.';
    return new ProblemError(
      problem('no_server', `The Temporal server refuses calls: ${innermost(error).why}.`, next),
    );
  }
  // The namespace was there when the connection was made: a server that starts again knows it a moment later.
  const isStarting = error instanceof NamespaceNotFoundError;
  const isSilent =
    hasCode(error, status.DEADLINE_EXCEEDED, status.UNAVAILABLE) || isNativeTimeout(error);
  if (!isStarting && !isSilent) return error;
  const next =
    'Start it again (`emend dev`, if that started it), then see `emend list`: no run is lost.';
  return new ProblemError(problem('no_server', 'The Temporal server stopped responding.', next));
};

/**
 * Runs calls that end when `signal` aborts. The SDK never takes its listeners off the signal that it is given, so each round gets one
 * of its own: a run that is watched through many changes would pile them up on ours.
 */
const untilAborted = async <T>(
  connection: Pick<ConnectionLike, 'withAbortSignal' | 'withDeadline'>,
  signal: AbortSignal,
  call: () => Promise<T>,
): Promise<T> => {
  const round = new AbortController();
  const end = (): void => round.abort();
  signal.addEventListener('abort', end, { once: true });
  try {
    const polled = () => connection.withAbortSignal(round.signal, call);
    return await connection.withDeadline(Date.now() + FOLLOW_POLL_MS, polled);
  } finally {
    signal.removeEventListener('abort', end);
  }
};

/** By `temporal.api.enums.v1.EventType`. Where a phase's run or a timer begins, the history does not say what the state is. */
const TELLS: Readonly<Record<number, News['kind']>> = {
  7: 'change', // a workflow task was completed
  17: 'pause', // a timer was started
  29: 'pause', // the run of a phase was begun
  2: 'end',
  3: 'end',
  4: 'end',
  27: 'end',
  21: 'end',
  28: 'end',
};

/** Returns what an event tells. Search attributes, or the memo in a namespace without them, say that the run waits. */
const toldBy = (event: HistoryEvent): News['kind'] | undefined => {
  const attributes =
    event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields;
  const memo = event.workflowPropertiesModifiedEventAttributes?.upsertedMemo?.fields;
  const marks = [attributes?.[SEARCH_ATTRIBUTES.state], memo?.waits];
  const isPause = marks.some((mark) => /waiting|reason/.test(textOf(mark?.data)));
  return isPause ? 'pause' : TELLS[Number(event.eventType)];
};
const textOf = (data: Uint8Array | null | undefined): string =>
  data == null ? '' : new TextDecoder().decode(data);

interface FollowOptions {
  readonly after: number;
  readonly signal: AbortSignal;
  readonly codecs: readonly PayloadCodec[];
}

const activityIn = (history: readonly HistoryEvent[]): string | null =>
  history.findLast((event) => event.activityTaskScheduledEventAttributes != null)
    ?.activityTaskScheduledEventAttributes?.activityType?.name ?? null;

/** See `RunGateway.follow`. Throws ProblemError `no_server` when the server stays away. */
export const followHistory = async (
  connection: ConnectionLike,
  { namespace, workflowId, runId }: RunRef & { readonly namespace: string },
  { after, signal, codecs }: FollowOptions,
  onNews: (news: News) => Promise<void>,
): Promise<void> => {
  let nextPageToken: Uint8Array | undefined;
  let lostAt: number | null = null;
  let seen = after;
  const events: StepEvent[] = [];
  let activity: string | null = null;
  const failing = new AbortController();
  const until = AbortSignal.any([signal, failing.signal]);
  const aborted = (): boolean => until.aborted;
  // What was told is not waited for before the end: more may come meanwhile, and be urgent.
  let told: Promise<void> = Promise.resolve();
  const tell = (news: News): void => {
    told = Promise.all([told, onNews(news)]).then(() => undefined);
    told.catch(() => failing.abort());
  };
  while (!aborted()) {
    try {
      const page = await untilAborted(connection, until, () =>
        connection.workflowService.getWorkflowExecutionHistory({
          namespace,
          execution: { workflowId, runId },
          waitNewEvent: true,
          maximumPageSize: FOLLOW_PAGE_EVENTS,
          ...(nextPageToken === undefined ? {} : { nextPageToken }),
        }),
      );
      lostAt = null;
      const fresh = (page.history?.events ?? []).filter((event) => Number(event.eventId) > seen);
      seen = Math.max(seen, ...fresh.map((event) => Number(event.eventId)));
      const kinds = new Set(fresh.map(toldBy));
      const kind = (['end', 'pause', 'change'] as const).find((each) => kinds.has(each));
      events.push(...(await eventsIn(fresh, codecs)));
      activity = activityIn(fresh) ?? activity;
      if (kind !== undefined) {
        tell({ kind, activity, events: events.splice(0) });
        activity = null;
      }
      if (page.nextPageToken.length === 0) break;
      nextPageToken = page.nextPageToken;
    } catch (error) {
      if (aborted() || hasCode(error, status.NOT_FOUND)) break;
      if (grpcCode(error) === null) throw error;
      lostAt ??= performance.now();
      if (hasCode(error, ...DENIALS) || performance.now() - lostAt > SERVER_LOST_MS)
        throw asProblem(error);
      nextPageToken = undefined;
      await sleep(FOLLOW_RETRY_MS, undefined, { signal: until }).catch(() => undefined);
    }
  }
  await told;
};

// The events of a run as its history holds them: each activity's input carries those that happened since the one before.

/** What is looked at of an event of the history; its other fields are another reader's. */
export interface HistoryEvent {
  readonly eventType?: unknown;
  readonly activityTaskScheduledEventAttributes?: {
    readonly activityType?: { readonly name?: string | null } | null;
    readonly input?: { readonly payloads?: readonly Payload[] | null } | null;
  } | null;
  readonly upsertWorkflowSearchAttributesEventAttributes?: {
    readonly searchAttributes?: { readonly indexedFields?: Fields | null } | null;
  } | null;
  readonly workflowPropertiesModifiedEventAttributes?: {
    readonly upsertedMemo?: { readonly fields?: Fields | null } | null;
  } | null;
}
type Fields = Readonly<Record<string, Payload | undefined>>;

/** In order of `seq`, each once. An input that cannot be read (its blob is lost) is left out. */
export const eventsIn = async (
  history: readonly HistoryEvent[],
  codecs: readonly PayloadCodec[],
): Promise<readonly StepEvent[]> => {
  const events = new Map<number, StepEvent>();
  for (const { activityTaskScheduledEventAttributes: scheduled } of history) {
    const payloads = scheduled?.input?.payloads ?? [];
    for (const event of await logOf(payloads, codecs))
      if (!events.has(event.seq)) events.set(event.seq, event);
  }
  return [...events.values()].sort((a, b) => a.seq - b.seq);
};

const logOf = async (
  payloads: readonly Payload[],
  codecs: readonly PayloadCodec[],
): Promise<readonly StepEvent[]> => {
  try {
    let decoded: Payload[] = [...payloads];
    for (const codec of codecs.toReversed()) decoded = await codec.decode(decoded);
    const input: unknown = JSON.parse(new TextDecoder().decode(decoded[0]?.data ?? undefined));
    return isRecord(input) && Array.isArray(input.log) ? input.log.filter(isEvent) : [];
  } catch {
    return [];
  }
};
