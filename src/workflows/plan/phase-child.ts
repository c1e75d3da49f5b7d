/** A phase's child: started once under a fixed id, outliving its parent; where it was started already, it is waited for. And those side by side. */
import type { PhaseId } from '../../shared/plan.js';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ActivityFailure,
  CancellationScope,
  CancelledFailure,
  ChildWorkflowFailure,
  getExternalWorkflowHandle,
  isCancellation,
  startChild,
} from '@temporalio/workflow';
import { budgetsLeft } from './budget.js';
import type { EndedPhase, PlanRun } from './protocol.js';
import { lacksWorktree, phaseOf } from './selectors.js';
import type { PhaseEntry, PlanState } from './state.js';
import type { PlanSetup, StepSetup, StepResult } from '../../shared/run.js';
import { hostOfQueue, WORKFLOWS } from '../../shared/names.js';
import { childOptions } from '../../shared/run-options.js';
import { phaseKey, shownKey } from '../../shared/ids.js';
import { phaseBranchOf } from '../../shared/repository.js';
import { checkVersion, versioned } from '../../shared/problems.js';
import type { Calls } from '../frame/activities.js';
import { failureOf } from '../frame/failures.js';

export const childId = ({ stepKey }: PlanSetup, phase: PhaseId, run: number): string =>
  `emend-phase-${phaseKey(stepKey, phase, run)}`;

function setupOf(state: PlanState, phase: PhaseEntry): StepSetup {
  const { input, reading } = state;
  const { queues, timings, hints, searchAttributes, rules, configurationCommit, page } = input;
  const overrides = { ...input.overrides, ...budgetsLeft(state, Date.now()) };
  if (phase.job === null) throw new Error(`Phase ${phase.number} has no job`);
  // One that runs beside others begins where they do, and has a branch of its own.
  const own = phase.tree && {
    base: phase.tree.base,
    branch: phaseBranchOf(input.stepKey, phase.tree.name),
  };
  // The Temporal UI shows the input in this order, so it begins with what the run is about.
  return {
    title: phase.job.title,
    jobPath: phase.job.path,
    workspace: phase.worktree?.workspace ?? input.workspace,
    stepKey: phaseKey(input.stepKey, phase.id, phase.runs),
    ...(input.repository === undefined ? {} : { repository: { ...input.repository, ...own } }),
    job: phase.job.ref,
    queues,
    timings,
    rules,
    overrides,
    hints,
    searchAttributes,
    approval: reading.plan?.approval ?? 'ask',
    ...(configurationCommit === undefined ? {} : { configurationCommit }),
    ...(page === undefined ? {} : { page }),
    ...(state.records.commits.length === 0 ? {} : { modelBase: true }),
    ...(state.withoutSandbox === true ? { withoutSandbox: true } : {}),
    ...(phase.worktree !== null || state.marks === undefined ? {} : { marks: state.marks }),
    // Once the tiers are spent the phase's run asks a person itself: revise, keep, manual or skip.
    ...(phase.asksItself ? {} : { testsFailed: 'return' as const }),
  };
}

/** Starts the phase's child, or finds it, and waits for its end. A cancel is passed on to it and its end waited for. */
async function runPhase(state: PlanState, phase: PhaseEntry, calls: Calls): Promise<EndedPhase> {
  const input = setupOf(state, phase);
  const workflowId = childId(state.input, phase.id, phase.runs);
  const { stepKey, jobPath, title, workspace, queues } = input;
  const memo = {
    stepKey,
    jobPath,
    title,
    workspace,
    host: hostOfQueue(queues.host),
    plan: state.input.stepKey,
  };
  try {
    const details = `Phase ${phase.number} of \`${state.input.planPath}\`. In a terminal: \`emend show ${shownKey(stepKey)}\``;
    const handle = await startChild<(input: object) => Promise<StepResult>>(WORKFLOWS.editStep, {
      ...childOptions({
        workflowId,
        taskQueue: queues.workflow,
        input: versioned({ setup: input }),
        title,
        attempt: phase.runs,
        memo,
        details,
        attributes: input.searchAttributes ? { stepKey, workspace } : null,
      }),
      // A child of an earlier run of this workflow (a reset) is the same work: it is found, never done again.
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
    });
    return ended(phase.id, await handle.result());
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError)
      return attach(state, phase, workflowId, calls);
    if (!(error instanceof ChildWorkflowFailure)) throw error;
    if (isCancellation(error)) return cancelledRun(phase.id);
    return {
      phase: phase.id,
      result: null,
      how: `its run failed: ${error.cause?.message ?? error.message}`,
    };
  }
}

const cancelledRun = (phase: PhaseId): EndedPhase => ({
  phase,
  result: null,
  how: 'its run was cancelled',
  cancelled: true,
});
const ended = (phase: PhaseId, result: StepResult): EndedPhase => {
  checkVersion(result, 'The result of the run of a phase');
  return { phase, result, how: result.outcome };
};

/** The child is not ours to wait for as a parent does: an activity asks the server, again and again while it is open. */
async function waitFor(
  state: PlanState,
  phase: PhaseId,
  child: string,
  calls: Calls,
): Promise<EndedPhase> {
  for (;;) {
    const wait = calls('awaitChild', `wait for ${child}`);
    const found = await wait({ stepKey: state.input.stepKey, log: [], child });
    if (found.outcome !== 'closed') continue;
    if (found.result !== null) return ended(phase, found.result);
    if (found.status === 'CANCELLED') return cancelledRun(phase);
    return { phase, result: null, how: `its run ended as ${found.status.toLowerCase()}` };
  }
}

async function attach(
  state: PlanState,
  phase: PhaseEntry,
  child: string,
  calls: Calls,
): Promise<EndedPhase> {
  try {
    return await waitFor(state, phase.id, child, calls);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return CancellationScope.nonCancellable(() => endPhase(state, phase, calls));
  }
}

async function endPhase(state: PlanState, phase: PhaseEntry, calls: Calls): Promise<EndedPhase> {
  return waitFor(state, phase.id, await cancelPhase(state, phase), calls);
}
export async function cancelPhase(state: PlanState, { id, runs }: PhaseEntry): Promise<string> {
  const child = childId(state.input, id, runs);
  await getExternalWorkflowHandle(child)
    .cancel()
    .catch(() => undefined);
  return child;
}

export async function runPhases(run: PlanRun, ids: readonly PhaseId[]): Promise<void> {
  if (ids.some((id) => lacksWorktree(run.state, phaseOf(run.state, id)))) {
    run.dispatch({ type: 'worktrees_wanted' });
    return;
  }
  run.dispatch({ type: 'phases_started', phases: ids });
  run.tell();
  await run.interruptibly(async () => {
    const open = new Set(ids);
    const runs = ids.map((id) => runOne(run, id).finally(() => open.delete(id)));
    const all = Promise.all(runs);
    const over = async (end: Promise<unknown>): Promise<void> => {
      try {
        await end;
      } catch (error) {
        // Their worktrees go when all have ended.
        await Promise.allSettled(runs);
        throw error;
      }
    };
    const long = CancellationScope.nonCancellable(() => run.long.wait(() => open.size === 0));
    await over(Promise.race([all, long]));
    if (open.size > 0 && (await CancellationScope.nonCancellable(() => run.long.ready())))
      await run.goOn();
    await over(all);
  });
}

async function runOne(run: PlanRun, id: PhaseId): Promise<void> {
  const ended = await endOf(run, id, () => runPhase(run.state, phaseOf(run.state, id), run.calls));
  if (ended === null) return;
  const withPlan = CancellationScope.current().consideredCancelled;
  run.dispatch({ type: 'phase_ended', ended: { ...ended, withPlan } });
  // A run that somebody else cancelled is a question about its phase; those beside it go on.
  if (ended.cancelled === true && withPlan) throw new CancelledFailure(ended.how);
}

/** With what a run used that left no result; without it where nobody can say. */
async function counted({ state, calls }: PlanRun, ended: EndedPhase): Promise<EndedPhase> {
  if (ended.result !== null) return ended;
  const stepKey = phaseKey(state.input.stepKey, ended.phase, phaseOf(state, ended.phase).runs);
  const count = () => calls('countUsage', 'count what was used')({ stepKey, log: [] });
  const found = await CancellationScope.nonCancellable(count).catch(() => null);
  return found === null ? ended : { ...ended, usage: found.usage };
}

/** Null: nobody could say, and it is asked about; the run may be open. */
async function endOf(
  run: PlanRun,
  id: PhaseId,
  ask: () => Promise<EndedPhase>,
): Promise<EndedPhase | null> {
  try {
    return await counted(run, await ask());
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    const { number } = phaseOf(run.state, id);
    const { reason, message } = failureOf(error, 'awaitChild');
    const words = `could not wait for the run of Phase ${number}: ${message}`;
    run.dispatch({
      type: 'activity_failed',
      activity: 'awaitChild',
      phase: null,
      reason,
      message: words,
    });
    return null;
  }
}

/** Phases' runs that nobody waited for any more, a host was gone, end before their worktrees go. Returns the worktrees that must stay. */
export async function endRuns(run: PlanRun): Promise<readonly string[]> {
  const stay: string[] = [];
  for (const { id, worktree } of run.state.phases.filter(({ status }) => status === 'running')) {
    const ended = await endOf(run, id, () =>
      endPhase(run.state, phaseOf(run.state, id), run.calls),
    );
    if (ended !== null) run.dispatch({ type: 'phase_ended', ended: { ...ended, withPlan: true } });
    else if (worktree !== null) stay.push(worktree.name);
  }
  return stay;
}
