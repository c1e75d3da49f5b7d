/** The key of a run whose memo may be that of another run: a run of a cron workflow starts with the memo of the run before it. */
import { status } from '@grpc/grpc-js';
import type { ConnectionLike } from '@temporalio/client';
import { planOf, type StepKey } from '../shared/ids.js';
import { runKey, type RunOrigin } from '../shared/run-key.js';
import { hasCode } from './history.js';

/** `temporal.api.enums.v1.ContinueAsNewInitiator`. */
const BY_WORKFLOW = 1;

interface Run extends Omit<RunOrigin, 'cronRunId'> {
  readonly runId: string;
}

/**
 * Returns the key in the memo if the run wrote it. If the ids do not show that, the first event of its history does: a run that was
 * continued as new has the memo of its own work, and a run that was reset has the key of its original run.
 */
export async function keyOfRun(
  connection: ConnectionLike,
  { runId, ...origin }: Run,
  memoKey: unknown,
): Promise<StepKey> {
  const keyOf = (cronRunId: string | null): StepKey => runKey({ ...origin, cronRunId });
  if (typeof memoKey !== 'string') return keyOf(null);
  const isOfPhase = planOf(memoKey) !== memoKey;
  if (isOfPhase || memoKey === keyOf(null) || memoKey === keyOf(runId)) return memoKey;
  const first = await firstEvent(connection, { runId, ...origin });
  return first?.initiator === BY_WORKFLOW ? memoKey : keyOf(first?.originalRunId ?? runId);
}

/** Returns null if the server has removed the run. */
async function firstEvent(
  { workflowService }: ConnectionLike,
  { namespace, workflowId, runId }: Run,
): Promise<{ readonly initiator: number; readonly originalRunId: string | null } | null> {
  const request = { namespace, execution: { workflowId, runId }, maximumPageSize: 1 };
  try {
    const { history } = await workflowService.getWorkflowExecutionHistory(request);
    const start = history?.events?.[0]?.workflowExecutionStartedEventAttributes;
    return {
      initiator: Number(start?.initiator),
      originalRunId: start?.originalExecutionRunId ?? null,
    };
  } catch (error) {
    if (hasCode(error, status.NOT_FOUND)) return null;
    throw error;
  }
}
