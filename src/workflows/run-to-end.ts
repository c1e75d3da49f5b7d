/** The frame of a workflow: it runs, a cancel is an abort, and its handlers have answered before it ends. */
import { allHandlersFinished, CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { StepResult } from '../shared/protocol.js';

export interface Running {
  run(): Promise<void>;
  /** Cancel in the Temporal UI equals abort; called in a scope of its own where it must not be cut short. */
  abort(by: string): Promise<void>;
  result(): StepResult;
}

export async function runToEnd(running: Running): Promise<StepResult> {
  let cancelled: Error | null = null;
  try {
    await running.run();
  } catch (error) {
    if (!isCancellation(error) || !(error instanceof Error)) throw error;
    cancelled = error;
    await running.abort('cancel request');
  }
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  if (cancelled !== null && running.result().outcome === 'aborted') throw cancelled;
  return running.result();
}
