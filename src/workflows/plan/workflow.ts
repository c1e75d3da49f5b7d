/**
 * A plan: a Markdown document carried out phase by phase. Each phase is an `editStep` of its own (a child that outlives its parent);
 * what a phase asks for, how it is marked and what is kept of it is done by activities. This file is the protocol.
 */
import { CancellationScope } from '@temporalio/workflow';
import type { PhaseId } from '../../shared/plan.js';
import type { StepResult } from '../../shared/run.js';
import type { PlanInput } from '../../shared/start-input.js';
import { owner } from '../frame/activities.js';
import * as check from '../frame/input.js';
import { within, type Machine } from '../frame/machine.js';
import { shown } from '../frame/decisions.js';
import { PLAN_CONTROLS, PLAN_REPORTS } from '../frame/messages.js';
import { runMachine } from '../frame/run.js';
import { checkpointOf } from './checkpoint.js';
import { nextPlanEffect, type PlanMove, type PlanMoves } from './effects.js';
import { cancelPhase, childId, endRuns, runPhases } from './phase-child.js';
import { reducePlan, type PlanFact, type PlanRun } from './reduce.js';
import { reportsOf } from './reports.js';
import { readingOf, revise, score } from './revise.js';
import {
  commandsOf,
  initialPlan,
  isHeld,
  markerOf,
  phaseOf,
  placeOf,
  type PlanState,
} from './state.js';
import { detailsOfPlan, resultOfPlan, statusOfPlan } from './views.js';
import { worktreeName } from './worktrees.js';

/** `plan(input) -> result`; see src/shared/start-input.ts for the input, src/shared/run.ts for the result, docs/plans.md for the steps of a phase. */
export async function plan(input: PlanInput, ...others: readonly never[]): Promise<StepResult> {
  return runMachine(machine, [input, ...others]);
}

const machine: Machine<PlanState, PlanFact, PlanMove, PhaseId | null> = {
  kind: 'plan',
  setupFields: {
    planPath: check.text,
    options: check.object({
      phase: check.orNull('a number', check.isNumber),
      mode: check.text,
      forceReplan: check.flag,
      drift: check.orNull('a text', check.isText),
      estimate: check.text,
      restart: check.flag,
    }),
  },
  initial: initialPlan,
  next: nextPlanEffect,
  reduce: reducePlan,
  perform: (move, run) => perform(move, run),
  onHost: ({ input: { repository }, marks: marked = [] }) =>
    repository === undefined ? {} : { repository, marked },
  failed: (fact, phase = null) => ({ ...fact, phase }),
  end: cleanUp,
  views: {
    status: statusOfPlan,
    ledger: () => [],
    proposal: () => null,
    details: detailsOfPlan,
    result: resultOfPlan,
  },
  abortsBetweenEffects: true,
  signals: [
    ...PLAN_REPORTS.map(([trigger, signal, description]) => ({
      signal,
      description,
      read: (state: PlanState, body: unknown): PlanFact => {
        const text = wordOf(body, 'text').trim().slice(0, state.input.rules.bounds.reason_chars);
        if (text !== '') return { type: 'reported', report: { trigger, text, by: senderOf(body) } };
        return {
          type: 'ignored',
          what: `${signal.name} ${shown(state, body)}`,
          why: 'its body names no text',
        };
      },
    })),
    ...PLAN_CONTROLS.map(([control, signal, description]) => ({
      signal,
      description,
      read: (_: PlanState, body: unknown): PlanFact => ({
        type: 'control_received',
        control,
        by: senderOf(body),
      }),
    })),
  ],
  carried: (state) => within(state, 'counts', { groups: 0 }),
};

const wordOf = (body: unknown, name: string): string => {
  const word =
    typeof body === 'object' && body !== null
      ? (body as Readonly<Record<string, unknown>>)[name]
      : null;
  return typeof word === 'string' ? word : '';
};
const senderOf = (body: unknown): string => wordOf(body, 'by').slice(0, 200) || 'someone';

const PERFORM: {
  readonly [K in keyof PlanMoves]: (run: PlanRun, move: PlanMove<K>) => Promise<void> | void;
} = {
  read,
  score: (run, { phase }) => score(run, phase),
  begin_revising: (run, { phase, trigger, words }) =>
    run.dispatch({ type: 'revise', phase, trigger, words }),
  revise: (run, { revising }) => revise(run, revising),
  begin: (run, { group }) => run.dispatch({ type: 'begun', group }),
  job: (run, { phase }) => job(run, phase),
  run: (run, { phases }) => runPhases(run, phases),
  worktree: (run, { phase }) => worktree(run, phase),
  verify: (run, { phase }) => verify(run, phase),
  merge: (run, { phase }) => merge(run, phase),
  clean: (run, { name }) => clean(run, name),
  mark: (run, { phase }) => mark(run, phase, isHeld(run.state, phase)),
  checkpoint,
  await_resume: awaitResume,
  continue: (run) => run.goOn(),
  close: (run, { outcome }) => run.dispatch({ type: 'closed', outcome }),
};
const perform = <K extends keyof PlanMoves>(
  move: PlanMove<K>,
  run: PlanRun,
): Promise<void> | void => PERFORM[move.kind](run, move);

const settingsOf = ({ reading: { plan } }: PlanState) =>
  plan === null ? {} : { settings: plan.settings };
const where = (state: PlanState) => {
  const { workspace, planPath } = state.input;
  return { workspace, planPath, ...settingsOf(state) };
};

function read(run: PlanRun): Promise<void> {
  const { state } = run;
  const { input, stage } = state;
  const { number: reading, plan: last } = state.reading;
  return run.call(
    'readPlan',
    `read the plan (${reading})`,
    {
      ...where(state),
      ...readingOf(state, reading),
      // After a replan of ours the plan is another one; what was lost is wanted anew.
      ...(last === null || stage.at !== 'reading' || stage.inherit !== null || stage.renew
        ? {}
        : { hash: last.hash }),
      // Who says where to begin goes on from nothing.
      ...(reading === 1 && input.options.phase === null && !input.options.restart
        ? { resume: { checkpoint: input.resumeFrom ?? null } }
        : {}),
    },
    (result) => ({ type: 'plan_read', result }),
  );
}

async function awaitResume(run: PlanRun): Promise<void> {
  run.showWaiting('paused');
  run.tell();
  await run.long.wait(() => {
    const { pausedBy, stopAfterPhase } = run.state.controls;
    return pausedBy === null || stopAfterPhase !== null || run.aborting;
  });
}

function job(run: PlanRun, id: PhaseId): Promise<void> {
  const { state } = run;
  const { input, reading, tests } = state;
  const { plan: last } = reading;
  const phase = phaseOf(state, id);
  const { runs, number, name, category, complexity, note, report, failures } = phase;
  const { place, total } = placeOf(state, phase);
  if (last === null) throw new Error('no plan was read');
  return run.call(
    'writePhaseJob',
    { summary: `write the job of Phase ${number}`, about: id },
    {
      ...where(state),
      phase: { id, number, name, category },
      place,
      total,
      run: runs + 1,
      child: childId(input, id, runs + 1),
      texts: last.texts,
      settings: last.settings,
      score: complexity.score,
      queues: input.queues,
      approval: last.approval,
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

const testBounds = ({ limits }: PlanState) => ({
  timeout_s: limits?.testTimeout_s ?? 600,
  maxOutput_bytes: limits?.testOutput_bytes ?? 1024 * 1024,
});

function worktree(run: PlanRun, id: PhaseId): Promise<void> {
  const { state } = run;
  const phase = phaseOf(state, id);
  const name = worktreeName(phase);
  const made = phase.tree === null ? {} : { base: phase.tree.base };
  return run.call(
    'prepareWorktree',
    { summary: `create a worktree for Phase ${phase.number}`, about: id },
    { ...where(state), ...made, name, ...testBounds(state) },
    (result) => ({ type: 'worktree_ready', phase: id, name, result }),
  );
}

function verify(run: PlanRun, id: PhaseId | null): Promise<void> | void {
  const { state } = run;
  const { group, input } = state;
  const commands = commandsOf(state, group.ids);
  const base = id !== null;
  if (commands.length === 0 || (base ? group.baseTested : group.mergedTested))
    return run.dispatch({ type: 'group_untested', base });
  const workspace =
    id === null ? input.workspace : (phaseOf(state, id).worktree?.workspace ?? input.workspace);
  return run.call(
    'runTests',
    { summary: base ? 'test before the phases start' : 'test what was merged', about: id },
    {
      workspace,
      on: { kind: 'workspace' },
      commands,
      ...testBounds(state),
      ...settingsOf(state),
    },
    (result) => ({ type: 'group_verified', base, result }),
  );
}

function merge(run: PlanRun, id: PhaseId): Promise<void> {
  const { number, name, runs, commits, tree } = phaseOf(run.state, id);
  if (tree === null) throw new Error(`Phase ${number} has no worktree to merge`);
  return run.call(
    'mergePhase',
    { summary: `merge Phase ${number}`, about: id },
    {
      ...where(run.state),
      ...owner(),
      phase: { id, number, name },
      run: runs,
      commit: commits.at(-1) ?? '',
      base: tree.base,
    },
    (result) => ({ type: 'phase_merged', phase: id, result }),
  );
}

function clean(run: PlanRun, name: string): Promise<void> {
  return run.call(
    'removeWorktree',
    `remove the worktree ${name}`,
    { ...where(run.state), name },
    (result) => ({
      type: 'worktree_removed',
      name,
      result,
    }),
  );
}

function checkpoint(run: PlanRun): Promise<void> {
  const { state } = run;
  return run.call(
    'saveCheckpoint',
    'save the checkpoint',
    {
      ...where(state),
      number: state.counts.checkpoints + 1,
      checkpoint: checkpointOf(state, Date.now()),
    },
    (result) => ({ type: 'checkpointed', result }),
  );
}

function mark(run: PlanRun, id: PhaseId, hold: boolean): Promise<void> {
  const { state } = run;
  const { plan: last } = state.reading;
  const phase = phaseOf(state, id);
  const { number, name, result: ended } = phase;
  const { done, total } = placeOf(state, phase);
  return run.call(
    'markPhase',
    { summary: `mark Phase ${number}`, about: id },
    {
      ...where(state),
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

/** A plan that is ended leaves no worktree behind; one that cannot be removed is told. One that is aborted, or leaves a report, leaves what it knew. */
async function cleanUp(run: PlanRun): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    const { state } = run;
    // The host takes no work: nobody waits for its runs, and whoever looks there once it is back removes what an ended plan left.
    if (state.openOnHost !== null) {
      for (const phase of state.phases)
        if (phase.status === 'running') await cancelPhase(state, phase);
      return;
    }
    const open = await endRuns(run);
    for (const name of run.state.worktrees.made) if (!open.includes(name)) await clean(run, name);
    const { abortedBy, reading, marks = [] } = run.state;
    const last = run.state.phases.findLast(({ marked }) => marked);
    if (marks.length > 0 && last !== undefined) await mark(run, last.id, false);
    if ((abortedBy !== null || reportsOf(run.state).length > 0) && reading.plan !== null)
      await checkpoint(run);
  });
}
