/** The frame of a workflow: it runs, a cancel is an abort, and its handlers have answered before it ends. */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  patched,
  workflowInfo,
} from '@temporalio/workflow';
import { waitsForHost, type DecisionState } from './decision-state.js';
import type { StepResult } from '../../shared/run.js';
import { boundsOf, type Ruled } from '../../shared/rules.js';

export interface Running {
  run(): Promise<void>;
  /** Cancel in the Temporal UI equals abort; called in a scope of its own where it must not be cut short. */
  abort(by: string): Promise<void>;
  result(): StepResult;
}

/** Does an abort now leave the host's files as they are? Asked only where a host takes no work: a marker costs an event. */
export const endsWithoutHost = (state: DecisionState): boolean => waitsForHost(state) && patched('abort-without-host');

/**
 * Counts the moves of one workflow task. Waiting for an activity, a child, a timer or a condition that is not met ends the task; a task
 * that never ends is given to one worker after the other, and takes each down with all its runs.
 */
export class IdleMoves {
  readonly most: number;
  private task = 0;
  private moves = 0;

  constructor(run: Ruled) {
    this.most = boundsOf(run).idleMoves;
  }

  /** Call it before each move. True: too many, the run pauses; counting begins anew. */
  exceeded(): boolean {
    // The history grows from task to task, and at replay as it did then.
    const { historyLength } = workflowInfo();
    this.moves = historyLength === this.task ? this.moves + 1 : 1;
    this.task = historyLength;
    if (this.moves <= this.most) return false;
    this.moves = 0;
    return true;
  }
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
  const result = running.result();
  // ◆ A cancelled run has no result on the server, and what is open on its host is in the result.
  if (cancelled !== null && result.outcome === 'aborted' && result.openOnHost === undefined) throw cancelled;
  return result;
}
