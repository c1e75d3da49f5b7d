/** The calls of a plan's moves: each runs an activity and dispatches the fact that comes of it. */
import { configurationOf } from '../../shared/run.js';
import type { PhaseId } from '../../shared/plan.js';
import type { PlanReading } from '../../shared/plan-activities.js';
import { owner } from '../frame/activities.js';
import { checkpointOf } from './checkpoint.js';
import { childId } from './phase-child.js';
import type { PlanRun } from './protocol.js';
import {
  about,
  commandsOf,
  isDone,
  markerOf,
  phaseOf,
  placeOf,
  readPlanOf,
  worktreeName,
} from './selectors.js';
import type { PlanState } from './state.js';

const TEST_TIMEOUT_S = 600; // bound: Seconds for the tests of a plan whose limits are not known.
const TEST_OUTPUT_BYTES = 1024 * 1024; // bound: Bytes of the output of such tests.

const settingsOf = ({ reading: { plan } }: PlanState) =>
  plan === null ? {} : { settings: plan.settings };

const whereOf = (state: PlanState) => {
  const { workspace, planPath } = state.input;
  return { workspace, planPath, ...settingsOf(state) };
};

const testBounds = ({ limits }: PlanState) => ({
  timeout_s: limits?.testTimeout_s ?? TEST_TIMEOUT_S,
  maxOutput_bytes: limits?.testOutput_bytes ?? TEST_OUTPUT_BYTES,
});

/** Returns how the plan is read next: with what the run knows of it. */
export function readingOf(
  { input, phases, reading: { trusts } }: PlanState,
  reading: number,
): PlanReading {
  return {
    reading,
    known: phases.map((phase) => ({
      ...about(phase),
      text: phase.text,
      ...(isDone(phase) ? {} : { open: true }),
    })),
    overrides: input.overrides,
    approval: input.approval ?? null,
    ...configurationOf(input),
    ...(trusts === undefined ? {} : { trusts }),
  };
}

/** Reads the documents of the plan. */
export function readPlan(run: PlanRun): Promise<void> {
  const { state } = run;
  const { input, stage } = state;
  const { number: reading, plan: last } = state.reading;
  return run.call(
    'readPlan',
    `read the plan (${reading})`,
    {
      ...whereOf(state),
      ...readingOf(state, reading),
      // After a replan of this run the plan is another one, and lost texts are needed again: then no hash is known.
      ...(last === null || stage.at !== 'reading' || stage.inherit !== null || stage.renew
        ? {}
        : { hash: last.hash }),
      // An input that names the first phase, or a restart, continues no earlier run.
      ...(reading === 1 && input.options.phase === null && !input.options.restart
        ? { resume: { checkpoint: input.resumeFrom ?? null } }
        : {}),
    },
    (result) => ({ type: 'plan_read', result }),
  );
}

/** Writes the job of the next run of a phase. */
export function writeJob(run: PlanRun, id: PhaseId): Promise<void> {
  const { state } = run;
  const { input, tests } = state;
  const { texts, settings, approval } = readPlanOf(state);
  const phase = phaseOf(state, id);
  const { runs, number, name, category, complexity, note, report, failures } = phase;
  const { place, total } = placeOf(state, phase);
  return run.call(
    'writePhaseJob',
    { summary: `write the job of Phase ${number}`, about: id },
    {
      ...whereOf(state),
      phase: { id, number, name, category },
      place,
      total,
      run: runs + 1,
      child: childId(input, id, runs + 1),
      texts,
      settings,
      score: complexity.score,
      queues: input.queues,
      approval,
      commands: commandsOf(state, [id]),
      rememberTest: tests.remember,
      overrides: input.overrides,
      note,
      report,
      failure: failures.at(-1) ?? null,
    },
    (result) => ({ type: 'job_made', phase: id, result }),
  );
}

/** Creates the worktree of a phase, or finds it again. */
export function prepareWorktree(run: PlanRun, id: PhaseId): Promise<void> {
  const { state } = run;
  const phase = phaseOf(state, id);
  const name = worktreeName(phase);
  const known = phase.tree === null ? {} : { base: phase.tree.base };
  return run.call(
    'prepareWorktree',
    {
      summary: `create a worktree for Phase ${phase.number}`,
      about: id,
      runsCommands: state.reading.plan?.setsUp === true,
    },
    { ...whereOf(state), ...known, name, ...testBounds(state) },
    (result) => ({ type: 'worktree_ready', phase: id, name, result }),
  );
}

/** Tests in the worktree of a phase before the group starts; null: tests what was merged. */
export function testGroup(run: PlanRun, id: PhaseId | null): Promise<void> | void {
  const { state } = run;
  const { group, input } = state;
  const commands = commandsOf(state, group.ids);
  const isBase = id !== null;
  if (commands.length === 0 || (isBase ? group.baseTested : group.mergedTested))
    return run.dispatch({ type: 'group_untested', base: isBase });
  const workspace =
    id === null ? input.workspace : (phaseOf(state, id).worktree?.workspace ?? input.workspace);
  return run.call(
    'runTests',
    { summary: isBase ? 'test before the phases start' : 'test what was merged', about: id },
    {
      workspace,
      on: { kind: 'workspace' },
      commands,
      ...testBounds(state),
      ...settingsOf(state),
    },
    (result) => ({ type: 'group_verified', base: isBase, result }),
  );
}

/** Merges the commits of a phase into the branch of the plan. */
export function mergePhase(run: PlanRun, id: PhaseId): Promise<void> {
  const { number, name, runs, commits, tree } = phaseOf(run.state, id);
  if (tree === null) throw new Error(`Phase ${number} has no worktree to merge`);
  return run.call(
    'mergePhase',
    { summary: `merge Phase ${number}`, about: id },
    {
      ...whereOf(run.state),
      ...owner(),
      phase: { id, number, name },
      run: runs,
      commit: commits.at(-1) ?? '',
      base: tree.base,
    },
    (result) => ({ type: 'phase_merged', phase: id, result }),
  );
}

/** Removes a worktree. */
export function removeWorktree(run: PlanRun, name: string): Promise<void> {
  return run.call(
    'removeWorktree',
    `remove the worktree ${name}`,
    { ...whereOf(run.state), name },
    (result) => ({
      type: 'worktree_removed',
      name,
      result,
    }),
  );
}

/** Saves the checkpoint of the plan in the archive. */
export function saveCheckpoint(run: PlanRun): Promise<void> {
  const { state } = run;
  return run.call(
    'saveCheckpoint',
    'save the checkpoint',
    {
      ...whereOf(state),
      number: state.counts.checkpoints + 1,
      checkpoint: checkpointOf(state, Date.now()),
    },
    (result) => ({ type: 'checkpointed', result }),
  );
}

/** Writes into the documents what became of a phase. `hold`: a later commit includes the mark. */
export function markPhase(run: PlanRun, id: PhaseId, hold: boolean): Promise<void> {
  const { state } = run;
  const { plan: last } = state.reading;
  const phase = phaseOf(state, id);
  const { number, name, result: ended } = phase;
  const { done, total } = placeOf(state, phase);
  return run.call(
    'markPhase',
    {
      summary: `mark Phase ${number}`,
      about: id,
      runsCommands: state.reading.plan?.runsHooks === true,
    },
    {
      ...whereOf(state),
      ...owner(),
      phase: { id, number, name },
      marker: markerOf(phase),
      mark: phase.marks,
      commit: phase.commits.at(-1) ?? null,
      skipped: ended?.skipped ?? [],
      hold,
      marks: state.marks ?? [],
      why: phase.why,
      verification: ended?.verification ?? phase.tests,
      done,
      total,
      texts: last?.texts ?? null,
    },
    (result) => ({ type: 'phase_marked', phase: id, result }),
  );
}

/** Waits until the plan is resumed, stopped or aborted. */
export async function awaitResume(run: PlanRun): Promise<void> {
  run.showWaiting('paused');
  run.tell();
  await run.long.wait(() => {
    const { pausedBy, stopAfterPhase } = run.state.controls;
    return pausedBy === null || stopAfterPhase !== null || run.aborting;
  });
}
