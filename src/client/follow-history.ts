/**
 * When to look at a run again, from a long poll on its history: the server holds the request until there is something new, which
 * costs no action. A run's state changes only when a workflow task completes or the run closes, so nothing else is told.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { fail } from '../shared/problems.js';
import { GRPC, grpcCode, untilAborted } from './grpc.js';
import type { RunRef } from './types.js';

/** A server that is being restarted is waited for this long. */
const SERVER_LOST_MS = 60_000;
const RETRY_MS = 500;
const PAGE_SIZE = 500;
/** `temporal.api.enums.v1.EventType`: workflow task completed; completed, failed, timed out, terminated, cancelled, continued as new. */
const TELLING: readonly number[] = [7, 2, 3, 4, 27, 21, 28];

/** See `RunGateway.follow`. Throws ProblemError `no_server` when the server stays away. */
export const followHistory = async (
  connection: Connection,
  namespace: string,
  ref: RunRef,
  after: number,
  signal: AbortSignal,
  onNews: () => Promise<void>,
): Promise<void> => {
  let nextPageToken: Uint8Array | undefined;
  let lostAt: number | null = null;
  let seen = after;
  const aborted = (): boolean => signal.aborted;
  while (!aborted()) {
    try {
      const page = await untilAborted(connection, signal, () =>
        connection.workflowService.getWorkflowExecutionHistory({
          namespace,
          execution: { workflowId: ref.workflowId, runId: ref.runId },
          waitNewEvent: true,
          maximumPageSize: PAGE_SIZE,
          ...(nextPageToken === undefined ? {} : { nextPageToken }),
        }),
      );
      lostAt = null;
      const fresh = (page.history?.events ?? []).filter((event) => Number(event.eventId) > seen);
      seen = Math.max(seen, ...fresh.map((event) => Number(event.eventId)));
      if (fresh.some((event) => TELLING.includes(Number(event.eventType)))) await onNews();
      if (page.nextPageToken.length === 0) return;
      nextPageToken = page.nextPageToken;
    } catch (error) {
      if (aborted() || grpcCode(error) === GRPC.notFound) return;
      if (grpcCode(error) === null) throw error;
      lostAt ??= performance.now();
      if (performance.now() - lostAt > SERVER_LOST_MS)
        fail('no_server', `The Temporal server has not answered for ${SERVER_LOST_MS / 1000} s.`);
      nextPageToken = undefined;
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
};
