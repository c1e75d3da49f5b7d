/** The first reading of a plan: its phases, and what an earlier run of it left. Pure. */
import { shownKey } from '../../../../shared/ids.js';
import type { ReadyPlan, ResumePhase, ResumePoint } from '../../../../shared/plan.js';
import { approversFirst } from '../../../frame/decisions/state.js';
import { emit } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import { showReport } from '../../reports.js';
import { inWaves, isDone, phaseOf, unmarkedOf } from '../../selectors.js';
import { driftAtStart, type PhaseEntry, type PlanState } from '../../state.js';
import { askAbout, closePlan } from '../../ways.js';
import { askFirst, testsAtFirst } from '../start.js';
import { entryOf } from './entry.js';

/** Begins the plan with its first reading. */
export function onFirstReading(
  state: PlanState,
  plan: ReadyPlan,
  currentTime_ms: number,
): PlanState {
  const from = state.input.options.phase;
  if (from !== null && !plan.phases.some(({ number }) => number === from)) {
    const numbers = plan.phases.map(({ number }) => number).join(', ');
    const message = `${state.input.planPath} has no Phase ${from}; its phases are ${numbers}.`;
    return closePlan(state, 'refused', currentTime_ms, { code: 'usage', message });
  }
  const begin = plan.phases.findIndex(({ number }) => number === from);
  const isBefore = (index: number): boolean => from !== null && index < begin;
  const phases = plan.phases.map((phase, index) => entryOf(phase, isBefore(index) ? from : null));
  const numberOf = new Map(phases.map(({ id, number }) => [id, number]));
  const read: PlanState = {
    ...within(within(state, 'reading', { plan }), 'tests', testsAtFirst(plan)),
    stage: { at: 'choosing' },
    phases,
    limits: plan.limits,
    ...approversFirst(state, plan),
  };
  const started = emit(read, currentTime_ms, {
    type: 'plan_started',
    plan: state.input.planPath,
    phases: phases.length,
    done: phases.filter(isDone).length,
    mode: inWaves(read) ? 'waves' : 'sequential',
    waves: plan.waves.map((wave) => wave.flat().map((id) => numberOf.get(id) ?? 0)),
  });
  // The phase that a report of the command line is about is known from here on.
  const reported = driftAtStart(state.input).reduce(
    (next, report) => showReport(next, report, currentTime_ms),
    started,
  );
  if (plan.resumePoint === undefined)
    return phases.every(isDone) ? reported : askFirst(reported, currentTime_ms);
  return plan.resumePoint.why.length === 0
    ? resumeOrBegin(reported, true, currentTime_ms)
    : askResume(reported, plan.resumePoint);
}

/** Asks whether the work that an earlier run left counts. */
function askResume(state: PlanState, { why: reasons, phases }: ResumePoint): PlanState {
  const committed = phases.flatMap((phase) =>
    phase.committed === null ? [] : [phaseOf(state, phase.id)],
  );
  const done = committed.map(({ number, name }) => `Phase ${number} (${name})`);
  const what = done.length === 0 ? 'a checkpoint' : `${done.join(', ')} committed but not marked`;
  return askAbout(
    state,
    null,
    'resume',
    `an earlier run of the plan left ${what}: ${reasons.join('; ')}`,
  );
}

/** `resume`: phases that are committed are done and get their marks, and counts go on. Otherwise the markers alone count. */
export function resumeOrBegin(
  state: PlanState,
  isResumed: boolean,
  currentTime_ms: number,
): PlanState {
  const { resumePoint, ...plan } = state.reading.plan ?? {};
  const known =
    state.reading.plan === null ? state : within(state, 'reading', { plan: plan as ReadyPlan });
  return resumePoint === undefined || !isResumed
    ? askFirst(known, currentTime_ms)
    : takeResume(known, resumePoint, currentTime_ms);
}

/** Takes over what an earlier run left: committed phases are done, and counts, reports and usage go on. */
function takeResume(state: PlanState, point: ResumePoint, currentTime_ms: number): PlanState {
  const taken = withResumePoint(state, point);
  const { failures, replans, run, spent } = point;
  const resumed = emit(taken, currentTime_ms, {
    type: 'resumed_from',
    run: run === null ? null : shownKey(run, state.input.rules.bounds.shownKey_chars),
    committed: unmarkedOf(taken).map(({ number }) => number),
    failures: failures.length,
    replans: replans.length,
    ...(spent === undefined ? {} : { spent: spent.usage }),
  });
  const next: PlanState =
    unmarkedOf(resumed).length > 0 ? { ...resumed, stage: { at: 'marking' } } : resumed;
  return next.phases.every(isDone) ? next : askFirst(next, currentTime_ms);
}

function withResumePoint(state: PlanState, point: ResumePoint): PlanState {
  const pointOf = new Map(point.phases.map((phase) => [phase.id, phase]));
  const { failures, replans, commits, spent, reports = [], marks = [] } = point;
  const known = within(state, 'revision', { drifts: [...reports, ...state.revision.drifts] });
  return {
    ...known,
    marks,
    phases: state.phases.map((phase) => resumedPhase(phase, pointOf.get(phase.id))),
    records: { failures, replans, commits },
    spentBefore: spent ?? null,
  };
}

function resumedPhase(phase: PhaseEntry, before: ResumePhase | undefined): PhaseEntry {
  if (before === undefined) return phase;
  const { replans, forceSpent, failures, complexity, committed } = before;
  const known = { ...phase, replans, forceSpent, failures };
  const scored = complexity === null ? known : { ...known, complexity, secondAsked: true };
  if (committed === null) return scored;
  const { commit, tests } = committed;
  return { ...scored, status: 'completed', marked: false, commits: [commit], tests, failures: [] };
}
