/** The state of a plan at its start, and what is looked up in it. Pure. */
import type {
  PhaseId,
  PhaseMarker,
  PlanOutcome,
  ComplexityRecord,
  PhaseStatus,
  KeptRef,
  PhaseReading,
  PhaseFailure,
  ReplanRecord,
  ReadyPlan,
  PlanSpent,
} from '../../shared/plan.js';
import { NO_DECISIONS, type DecisionState } from '../frame/decision-state.js';
import { NO_EVENTS, type EventLog } from '../../shared/events.js';
import { emit } from '../frame/log.js';
import { NO_USAGE, type StepUsage } from '../../shared/usage.js';
import type { PlanInput, OpenOnHost, StepResult } from '../../shared/run.js';
import type { Limits } from '../../shared/limits.js';
import type { Problem } from '../../shared/problems.js';
import type { BlobRef } from '../../shared/ids.js';

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

export interface PhaseEntry extends PhaseReading {
  readonly status: PhaseStatus;
  /** Children started for it; the stepKey of the n-th is `<plan's key>-<id>-<n>`. */
  readonly runs: number;
  /** The job of the next or running child. */
  readonly job: { readonly ref: BlobRef; readonly path: string; readonly title: string } | null;
  /** How its last child ended; null: none has. */
  readonly result: StepResult | null;
  readonly commits: readonly string[];
  /** Of a phase that an earlier run committed: what that commit says of its tests. */
  readonly tests?: 'pass' | 'no_tests';
  /** Tasks that its commit leaves undone; absent: none is known. */
  readonly undone?: number;
  /** The document says how it ended. */
  readonly marked: boolean;
  /** Failed verifications since it was last (re)planned. */
  readonly failures: readonly PhaseFailure[];
  /** What the next child's job says beside the phase: a person's note, a debugging report. */
  readonly note: string | null;
  readonly report: BlobRef | null;
  /** The next child asks a person itself where its tests fail (the tiers are spent). */
  readonly asksItself: boolean;
  /** It failed by its tests, and what comes next is not yet judged. */
  readonly testsFailed: boolean;
  /** A second score was asked for. */
  readonly secondAsked: boolean;
  /** `--force-replan` was made use of: it holds once for a phase and what was added for it. */
  readonly forceSpent: boolean;
  /** The trigger of complexity was judged. */
  readonly complexityJudged: boolean;
  readonly replans: number;
  readonly complexity: ComplexityRecord;
  /** Why it is skipped, failed or incomplete. */
  readonly why: string | null;
  /** Where its run works, where it runs beside others; null: in the plan's workspace. */
  readonly worktree: { readonly name: string; readonly workspace: string } | null;
  /** Where it began side by side with others: made again under this name from this base. Absent: it did not, or an earlier build made it. */
  readonly tree?: { readonly name: string; readonly base: string } | null;
  /** Its branch is merged into the plan's own. */
  readonly merged: boolean;
  /** Marks begun: the next one's record and commit are named after their number. */
  readonly marks: number;
  /** How often its mark was written and found gone. */
  readonly marksLost?: number;
  /** A person goes on without its mark. */
  readonly markLeft?: true;
  /** Somebody cancelled its last run. */
  readonly cancelled?: boolean;
}

/** A trigger that is being dealt with. */
export interface Revising {
  readonly phase: PhaseId;
  readonly trigger: ReplanRecord['trigger'];
  /** `asked`: a person is. */
  readonly step: 'judge' | 'debug' | 'propose' | 'apply' | 'asked';
  /** What a person reports; '' otherwise. */
  readonly words: string;
  /** A replan past the limit is wanted. */
  readonly forced: boolean;
  /** It is past the limit. */
  readonly past: boolean;
  readonly actions: readonly string[];
  readonly why: string;
  readonly proposal: { readonly ref: BlobRef | null; readonly action: string; readonly why: string } | null;
}

export type PlanStage =
  'reading' | 'choosing' | 'worktrees' | 'jobs' | 'running' | 'merging' | 'marking' | 'checkpoint' | 'closed';

export interface PlanState extends DecisionState, EventLog {
  readonly v: 1;
  readonly input: PlanInput;
  readonly stage: PlanStage;
  readonly startedAt: number;
  readonly outcome: PlanOutcome | null;
  readonly problem: Problem | null;
  readonly abortedBy: string | null;
  /** Aborted without its host, which cleans up once it is there again. */
  readonly openOnHost?: OpenOnHost;

  /** Number of the next reading. */
  readonly reading: number;
  readonly plan: ReadyPlan | null;
  /** The document as a person changed it, while they are asked which of the two counts. */
  readonly changed: ReadyPlan | null;
  /** Groups done in this run. */
  readonly groups: number;
  readonly limits: Limits | null;
  readonly phases: readonly PhaseEntry[];
  /** The phases under way: one, or a sub-wave. */
  readonly group: readonly PhaseId[];
  /** Commits of removed worktrees that nothing else held. */
  readonly kept?: readonly KeptRef[];
  /** Names of the worktrees that were made and not removed yet. */
  readonly worktrees: readonly string[];
  /** The tests pass where the group began; and, after merges, on the merged tree. */
  readonly baseTested: boolean;
  readonly mergedTested: boolean;
  /** The estimate, in words, as long as a person is to be asked about it. */
  readonly estimateAsked?: string | null;
  readonly testAnswered: boolean;
  readonly testCommands: readonly string[];
  readonly rememberTest: string | null;

  /** Checkpoints saved. */
  readonly checkpoints: number;
  readonly failures: readonly PhaseFailure[];
  readonly replans: readonly ReplanRecord[];
  /** Of phases, in the order in which they landed. */
  readonly commits: readonly string[];
  readonly usage: StepUsage;
  /** Counts against the budgets beside `usage`; absent: nothing does. */
  readonly spentBefore?: PlanSpent;

  /** Wanted by a person; taken up between phases. */
  readonly revising: Revising | null;
  /** What people report as out of the plan's scope; taken up before the next phase. */
  readonly drifts: readonly { readonly text: string; readonly by: string }[];
  /** Reports and proposals asked for: each has its own draw. */
  readonly advice: number;
  /** The next reading takes over a replan; new phases begin with these counts of the phase that it was for. Null: none is to be taken over. */
  readonly adopt: Pick<PhaseEntry, 'replans' | 'forceSpent'> | null;

  readonly pausedBy: string | null;
  readonly stopAfterPhase: string | null;
  /** Another run holds the workspace: how often it was asked for, and whether the next move is to wait. */
  readonly busyTries: number;
  readonly waiting: boolean;

  /** The phase that the open question is about. */
  readonly asked: PhaseId | null;
  /** `move`: what is asked about is an activity that failed; `retry` and the like make its move again. `reading`: the next one's texts take the place of lost ones. */
  readonly again?: 'move' | 'reading' | null;
}
