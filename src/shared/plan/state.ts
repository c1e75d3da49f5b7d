/** The state of a plan at its start, and what is looked up in it. Pure. */
import type { PhaseId, PhaseMarker, PlanOutcome } from '../plan.js';
import { NO_DECISIONS } from '../decision-state.js';
import { NO_EVENTS } from '../events.js';
import { emit } from '../transitions.js';
import { NO_USAGE } from '../usage.js';
import type { PhaseEntry, PlanInput, PlanState } from './types.js';

export const initialPlan = (input: PlanInput, now: number): PlanState => ({
  v: 1,
  input,
  stage: 'reading',
  startedAt: now,
  outcome: null,
  problem: null,
  abortedBy: null,
  reading: 1,
  plan: null,
  changed: null,
  groups: 0,
  limits: null,
  phases: [],
  group: [],
  worktrees: [],
  baseTested: false,
  mergedTested: true,
  estimateAsked: null,
  testAnswered: false,
  testCommands: [],
  rememberTest: null,
  checkpoints: 0,
  failures: [],
  replans: [],
  commits: [],
  usage: NO_USAGE,
  revising: null,
  drifts: input.options.drift === null ? [] : [{ text: input.options.drift, by: 'the start' }],
  advice: 0,
  adopt: null,
  pausedBy: null,
  stopAfterPhase: null,
  busyTries: 0,
  waiting: false,
  asked: null,
  ...NO_DECISIONS,
  ...NO_EVENTS,
});

export const phaseOf = (state: PlanState, id: PhaseId): PhaseEntry => {
  const found = state.phases.find((phase) => phase.id === id);
  if (found === undefined) throw new Error(`the plan has no phase ${id}`);
  return found;
};

export const withPhase = (state: PlanState, id: PhaseId, change: Partial<PhaseEntry>): PlanState => ({
  ...state,
  phases: state.phases.map((phase) => (phase.id === id ? { ...phase, ...change } : phase)),
});

/** Nothing is left to do for it. */
export const isDone = ({ status }: PhaseEntry): boolean =>
  status === 'completed' || status === 'incomplete' || status === 'skipped';

export const groupOf = (state: PlanState): readonly PhaseEntry[] => state.group.map((id) => phaseOf(state, id));

/** Do phases run side by side? Where none declares dependencies they come one after the other anyway. */
export const inWaves = ({ input, plan }: PlanState): boolean =>
  input.options.mode === 'waves' || (input.options.mode === 'auto' && plan?.declared === true);

export const markerOf = ({ status }: PhaseEntry): PhaseMarker =>
  status === 'skipped' || status === 'incomplete' ? status : 'completed';

export const closePlan = (state: PlanState, outcome: PlanOutcome, now: number): PlanState =>
  emit({ ...state, stage: 'closed', outcome, decision: null, ask: null }, now, { type: 'plan_finished', outcome });

/** Phases whose mark is missing in the document. */
export const unmarkedOf = (state: PlanState): readonly PhaseEntry[] =>
  state.phases.filter((phase) => isDone(phase) && !phase.marked);
