/** What a reading of the plan's documents does to the state. */
import { approversFirst } from '../frame/decisions/state.js';
import { emit } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { sentence } from '../../shared/problems.js';
import { shownKey } from '../../shared/ids.js';
import { tellReport } from './reports.js';
import { askFirst, testsAtFirst } from './start.js';
import {
  askAbout,
  closePlan,
  driftAtStart,
  inWaves,
  isDone,
  phaseOf,
  readAgain,
  unmarkedOf,
  type PhaseEntry,
  type PlanState,
  type Reading,
} from './state.js';
import type { ReadPlanResult, SamePlan } from '../../shared/plan-activities.js';
import type { ResumePoint, PhaseReading, ReadyPlan } from '../../shared/plan.js';

/** Reports the notes that the reading before did not have. Their lines move as the document changes. */
function withNotes(state: PlanState, result: ReadPlanResult, currentTime_ms: number): PlanState {
  const notes = result.outcome === 'ready' ? (result.notes ?? []) : [];
  const inWords = (note: string): string => note.replace(/:\d+: /, ': ');
  const known = new Set(state.reading.plan?.notes?.map(inWords));
  return notes
    .filter((note) => !known.has(inWords(note)))
    .reduce((next, message) => emit(next, currentTime_ms, { type: 'warning', message }), state);
}

export function onPlanRead(before: PlanState, result: ReadPlanResult, now: number): PlanState {
  const { plan } = before.reading;
  const state = withNotes(before, result, now);
  const wanted = state.stage.at === 'reading' ? state.stage : { inherit: null, renew: false };
  if (result.outcome === 'untrusted') {
    const doubtful = within(state, 'reading', { untrusted: result.hashes });
    return askAbout(doubtful, null, 'configuration', result.message);
  }
  if (result.outcome === 'refused') {
    if (plan === null) return closePlan(state, 'refused', now, result.problem);
    // A person broke the document while the plan runs: mended, it is read again under the next number.
    return askAbout(readAgain(state, wanted), null, 'engine_failed', sentence(result.problem));
  }
  if (result.outcome === 'same') {
    // A reset brought back a reading that was made for another state: the plan is read again.
    const other = plan?.hash !== result.hash || wanted.inherit !== null || wanted.renew;
    return other ? readAgain(state, wanted) : marked(state, plan, result, now);
  }
  const titled = withTitle(state, result);
  if (plan === null) return first(titled, result, now);
  return wanted.inherit === null
    ? later(titled, plan, result, now)
    : inherited(titled, wanted.inherit, result);
}

/** Names the run as its document does: the first activity reads no file of the workspace. */
function withTitle(state: PlanState, { title }: ReadyPlan): PlanState {
  return title === state.input.title ? state : within(state, 'input', { title });
}

/** What the document says is done needs no mark. */
const closedBy = ({ marker }: PhaseReading): Pick<PhaseEntry, 'status' | 'marked'> | null =>
  marker === 'completed' || marker === 'skipped' ? { status: marker, marked: true } : null;

/** `from`: the run starts with the phase of that number, after this one. */
const entryOf = (phase: PhaseReading, from: number | null = null): PhaseEntry => {
  const before = from !== null;
  return {
    ...phase,
    status: before ? 'completed' : 'pending',
    marked: before,
    why: before && phase.marker === null ? `the run started with Phase ${from}` : null,
    complexity: { score: phase.score.score, method: 'threshold', reasoning: null },
    runs: 0,
    job: null,
    result: null,
    commits: [],
    tests: null,
    unfinished: 0,
    cancelled: false,
    failures: [],
    note: null,
    report: null,
    asksItself: false,
    testsFailed: false,
    replans: 0,
    secondAsked: false,
    forceSpent: false,
    complexityEvaluated: false,
    complexityTold: false,
    worktree: null,
    tree: null,
    merged: false,
    marks: 1,
    marksLost: 0,
    markSkipped: false,
    ...closedBy(phase),
  };
};

function first(state: PlanState, plan: ReadyPlan, now: number): PlanState {
  const from = state.input.options.phase;
  if (from !== null && !plan.phases.some(({ number }) => number === from)) {
    const numbers = plan.phases.map(({ number }) => number).join(', ');
    const message = `${state.input.planPath} has no Phase ${from}; its phases are ${numbers}.`;
    return closePlan(state, 'refused', now, { code: 'usage', message });
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
  const told = emit(read, now, {
    type: 'plan_started',
    plan: state.input.planPath,
    phases: phases.length,
    done: phases.filter(isDone).length,
    mode: inWaves(read) ? 'waves' : 'sequential',
    waves: plan.waves.map((wave) => wave.flat().map((id) => numberOf.get(id) ?? 0)),
  });
  // The phase that a report of the command line is about is known from here on.
  const reported = driftAtStart(state.input).reduce(
    (before, report) => tellReport(before, report, now),
    told,
  );
  if (plan.resumePoint === undefined)
    return phases.every(isDone) ? reported : askFirst(reported, now);
  return plan.resumePoint.why.length === 0
    ? resolveLeft(reported, true, now)
    : askResume(reported, plan.resumePoint);
}

/** What was left counts only where a person says so. */
function askResume(state: PlanState, { why, phases }: ResumePoint): PlanState {
  const committed = phases.flatMap((left) =>
    left.committed === null ? [] : [phaseOf(state, left.id)],
  );
  const done = committed.map(({ number, name }) => `Phase ${number} (${name})`);
  const what = done.length === 0 ? 'a checkpoint' : `${done.join(', ')} committed but not marked`;
  return askAbout(
    state,
    null,
    'resume',
    `an earlier run of the plan left ${what}: ${why.join('; ')}`,
  );
}

/** `resume`: phases that are committed are done and get their marks, counts go on. `restart`: by the markers alone. */
export function resolveLeft(state: PlanState, resume: boolean, now: number): PlanState {
  const { resumePoint, ...plan } = state.reading.plan ?? {};
  const known =
    state.reading.plan === null ? state : within(state, 'reading', { plan: plan as ReadyPlan });
  return resumePoint === undefined || !resume
    ? askFirst(known, now)
    : takeResume(known, resumePoint, now);
}

function takeResume(state: PlanState, left: ResumePoint, now: number): PlanState {
  const of = new Map(left.phases.map((phase) => [phase.id, phase]));
  const phases = state.phases.map((phase): PhaseEntry => {
    const before = of.get(phase.id);
    if (before === undefined) return phase;
    const { replans, forceSpent, failures, complexity, committed } = before;
    const known = { ...phase, replans, forceSpent, failures };
    const scored = complexity === null ? known : { ...known, complexity, secondAsked: true };
    if (committed === null) return scored;
    const { commit, tests } = committed;
    return {
      ...scored,
      status: 'completed',
      marked: false,
      commits: [commit],
      tests,
      failures: [],
    };
  });
  const { failures, replans, commits, spent, reports = [], marks = [] } = left;
  const known = within(state, 'revision', { drifts: [...reports, ...state.revision.drifts] });
  const taken = {
    ...known,
    marks,
    phases,
    records: { failures, replans, commits },
    spentBefore: spent ?? null,
  };
  const told = emit(taken, now, {
    type: 'resumed_from',
    run: left.run === null ? null : shownKey(left.run, state.input.rules.bounds.shownKey_chars),
    committed: unmarkedOf(taken).map(({ number }) => number),
    failures: failures.length,
    replans: replans.length,
    ...(spent === undefined ? {} : { spent: spent.usage }),
  });
  const next: PlanState =
    unmarkedOf(told).length > 0 ? { ...told, stage: { at: 'marking' } } : told;
  return phases.every(isDone) ? next : askFirst(next, now);
}

/** Step 7: is each phase that is done marked as such? A mark that got lost is written again. */
function marked(
  state: PlanState,
  plan: ReadyPlan,
  result: SamePlan | ReadyPlan,
  now: number,
): PlanState {
  const found = new Map(result.phases.map((phase) => [phase.id, phase]));
  const lost = state.phases.filter(
    (phase) =>
      isDone(phase) &&
      phase.marked &&
      !phase.markSkipped &&
      phase.why?.startsWith('the run started') !== true &&
      found.get(phase.id)?.marker === null,
  );
  const lostOnes = new Set(lost);
  const phases = state.phases.map((phase) => {
    const now_ = found.get(phase.id);
    if (now_ === undefined) return { ...phase, gone: true };
    const { number, expanded, tasks, marker } = now_;
    const marks = lostOnes.has(phase) ? { marked: false, marksLost: phase.marksLost + 1 } : {};
    // What is done with may be renamed; of what is open a person is asked.
    const name = isDone(phase) && 'name' in now_ ? now_.name : phase.name;
    return {
      ...phase,
      gone: false,
      name,
      number,
      expanded,
      tasks: { ...phase.tasks, ...tasks },
      marker,
      ...marks,
    };
  });
  const read = within({ ...state, phases }, 'reading', { plan: { ...plan, level: result.level } });
  const told = emit(within(read, 'group', { ids: [] }), now, {
    type: 'markers_checked',
    lost: lost.map(({ number }) => number),
  });
  const next: PlanState = { ...told, stage: { at: lost.length > 0 ? 'marking' : 'choosing' } };
  const gone = phases.find(({ marked, marksLost }) => !marked && marksLost > plan.lostMarks);
  return gone === undefined ? next : askLostMark(next, gone);
}

function later(state: PlanState, known: ReadyPlan, result: ReadyPlan, now: number): PlanState {
  const { texts, settings } = result;
  const renew = state.stage.at === 'reading' && state.stage.renew;
  const plan = renew ? { ...known, texts, settings } : known;
  const next = marked(state, plan, result, now);
  if (next.ask !== null) return next;
  if (result.hash === plan.hash) return next;
  const words = changesOf(state, plan, result);
  // What is done with may be reworded by whoever likes.
  const { level, hash, notes: told = [] } = result;
  if (words.length === 0)
    return within(next, 'reading', { plan: { ...plan, level, hash, notes: told } });
  const message = `unfinished work was changed in the document: ${words.join('; ')}`;
  return askAbout(within(next, 'reading', { changed: result }), null, 'plan_changed', message);
}

/** Written again for ever it would be taken out for ever. */
function askLostMark(state: PlanState, { id, number, name, marksLost }: PhaseEntry): PlanState {
  const message = `the mark of Phase ${number} (${name}) was written ${marksLost} times but disappears from ${state.input.planPath} each time: a hook, a formatter or another program removes it`;
  return askAbout(state, id, 'engine_failed', message);
}
function changesOf(state: PlanState, plan: ReadyPlan, result: ReadyPlan): readonly string[] {
  const before = new Map(plan.phases.map((phase) => [phase.id, phase]));
  const after = new Set(result.phases.map(({ id }) => id));
  const open = new Set(state.phases.filter((phase) => !isDone(phase)).map(({ id }) => id));
  const isDue = (id: string): boolean => after.has(id) && open.has(id);
  const waits = ({ dependsOn }: PhaseReading): string => dependsOn.filter(isDue).join();
  return [
    ...result.phases.flatMap((phase) => {
      const old = before.get(phase.id);
      if (old === undefined) return [`Phase ${phase.number} (${phase.name}) is new`];
      if (!open.has(phase.id)) return [];
      const renamed = old.name === phase.name ? '' : `, now ${phase.name}`;
      return [
        ...(old.text === phase.text
          ? []
          : [`the text of Phase ${phase.number} (${old.name}${renamed}) changed`]),
        ...(waits(old) === waits(phase) ? [] : [`Phase ${phase.number} has other dependencies`]),
      ];
    }),
    ...plan.phases
      .filter(({ id }) => open.has(id) && !after.has(id))
      .map(({ number, name }) => `Phase ${number} (${name}) was removed`),
  ];
}

/** `take_new`: phases keep what became of them; new ones wait, open ones that are gone are dropped. `keep_old`: asked again only after another change. */
export function resolveChanged(state: PlanState, takeNew: boolean): PlanState {
  const { plan, changed } = state.reading;
  if (plan === null || changed === null) return state;
  if (!takeNew)
    return within(state, 'reading', { changed: null, plan: { ...plan, hash: changed.hash } });
  const gone = state.phases.filter(
    (phase) => isDone(phase) && !changed.phases.some(({ id }) => id === phase.id),
  );
  const phases = takenOver(state, changed, true);
  return {
    ...within(state, 'reading', { changed: null, plan: changed }),
    phases: [...gone.map((phase) => ({ ...phase, marked: true })), ...phases],
  };
}

/** What is known of a phase stays; new ones begin, with `counts`. `rescored`: those whose text is the same are, too. */
function takenOver(
  state: PlanState,
  { phases }: ReadyPlan,
  rescored: boolean,
  counts: Partial<PhaseEntry> = {},
): readonly PhaseEntry[] {
  const known = new Map(state.phases.map((phase) => [phase.id, phase]));
  return phases.map((phase) => {
    const old = known.get(phase.id);
    if (old === undefined) return { ...entryOf(phase), ...counts };
    if (isDone(old)) return { ...old, ...phase };
    const { complexity } = rescored || old.text !== phase.text ? entryOf(phase) : old;
    return { ...old, ...phase, complexity, ...closedBy(phase) };
  });
}

/** After a replan of ours: the plan as it stands now. */
function inherited(
  state: PlanState,
  counts: NonNullable<Reading['inherit']>,
  result: ReadyPlan,
): PlanState {
  const read = within(within(state, 'reading', { plan: result }), 'group', { ids: [] });
  return { ...read, phases: takenOver(state, result, false, counts), stage: { at: 'choosing' } };
}
