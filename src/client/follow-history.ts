/**
 * When to look at a run again, from a long poll on its history: the server holds the request until there is something new, which
 * costs no action. A run's state changes only when a workflow task completes or the run closes, so nothing else is told.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { fail } from '../shared/problems.js';
import { GRPC, grpcCode, untilAborted } from './grpc.js';
import type { RunRef } from './types.js';
import { SERVER_BOUNDS } from '../shared/bounds.js';

/** `temporal.api.enums.v1.EventType`: workflow task completed; completed, failed, timed out, terminated, cancelled, continued as new. */
const TELLING: readonly number[] = [7, 2, 3, 4, 27, 21, 28];
/** The run has ended, or its search attributes changed, which they do when it waits for a person: somebody may want to know at once. */
const URGENT: readonly number[] = [2, 3, 4, 27, 21, 28, 40];

/** See `RunGateway.follow`. Throws ProblemError `no_server` when the server stays away. */
export const followHistory = async (
  connection: Connection,
  namespace: string,
  ref: RunRef,
  after: number,
  signal: AbortSignal,
  onNews: (urgent: boolean) => Promise<void>,
): Promise<void> => {
  let nextPageToken: Uint8Array | undefined;
  let lostAt: number | null = null;
  let seen = after;
  const failing = new AbortController();
  const until = AbortSignal.any([signal, failing.signal]);
  const aborted = (): boolean => until.aborted;
  // What was told is not waited for before the end: more may come meanwhile, and be urgent.
  let told: Promise<void> = Promise.resolve();
  const tell = (urgent: boolean): void => {
    told = Promise.all([told, onNews(urgent)]).then(() => undefined);
    told.catch(() => {
      failing.abort();
    });
  };
  while (!aborted()) {
    try {
      const page = await untilAborted(connection, until, () =>
        connection.workflowService.getWorkflowExecutionHistory({
          namespace,
          execution: { workflowId: ref.workflowId, runId: ref.runId },
          waitNewEvent: true,
          maximumPageSize: SERVER_BOUNDS.followPage_events,
          ...(nextPageToken === undefined ? {} : { nextPageToken }),
        }),
      );
      lostAt = null;
      const fresh = (page.history?.events ?? []).filter((event) => Number(event.eventId) > seen);
      seen = Math.max(seen, ...fresh.map((event) => Number(event.eventId)));
      const types = fresh.map((event) => Number(event.eventType));
      const urgent = types.some((type) => URGENT.includes(type));
      if (urgent || types.some((type) => TELLING.includes(type))) tell(urgent);
      if (page.nextPageToken.length === 0) break;
      nextPageToken = page.nextPageToken;
    } catch (error) {
      if (aborted() || grpcCode(error) === GRPC.notFound) break;
      if (grpcCode(error) === null) throw error;
      lostAt ??= performance.now();
      if (performance.now() - lostAt > SERVER_BOUNDS.serverLost_ms)
        fail('no_server', `The Temporal server has not answered for ${SERVER_BOUNDS.serverLost_ms / 1000} s.`);
      nextPageToken = undefined;
      await sleep(SERVER_BOUNDS.followRetry_ms, undefined, { signal: until }).catch(() => undefined);
    }
  }
  await told;
};
