/** What the workflow of a plan does at its end: no run of a phase and no worktree stays, and every mark gets a commit. */
import { CancellationScope } from '@temporalio/workflow';
import { markPhase, removeWorktree, saveCheckpoint } from './calls.js';
import { cancelPhase, endRuns } from './phase-child.js';
import type { PlanRun } from './protocol.js';
import { reportsOf } from './selectors.js';

/** A worktree that cannot be removed is reported. A plan that is aborted, or leaves a report, saves what it knew. */
export async function cleanUp(run: PlanRun): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    // The host takes no work, so nobody waits for its runs. Recovery there removes what an ended plan left.
    if (run.state.openOnHost !== null) return cancelRunning(run);
    const open = await endRuns(run);
    for (const name of run.state.worktrees.made)
      if (!open.includes(name)) await removeWorktree(run, name);
    const { abortedBy, reading, phases, marks = [] } = run.state;
    const last = phases.findLast(({ marked }) => marked);
    if (marks.length > 0 && last !== undefined) await markPhase(run, last.id, false);
    const isUnfinished = abortedBy !== null || reportsOf(run.state).length > 0;
    if (isUnfinished && reading.plan !== null) await saveCheckpoint(run);
  });
}

async function cancelRunning({ state }: PlanRun): Promise<void> {
  for (const phase of state.phases) if (phase.status === 'running') await cancelPhase(state, phase);
}
