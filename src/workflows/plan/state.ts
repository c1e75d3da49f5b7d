/** The state of a plan: its types, and its value at the start. Questions about it are in `selectors.ts`, changes in `ways.ts`. */
import type {
  PhaseId,
  PlanOutcome,
  ComplexityRecord,
  PhaseStatus,
  KeptRef,
  PhaseReading,
  PhaseFailure,
  ResumePhase,
  ReplanRecord,
  ReadyPlan,
  PlanSpent,
  Report,
} from '../../shared/plan.js';
import { begin, type Closed, type RunState } from '../frame/machine.js';
import type { PlanSetup, StepResult } from '../../shared/run.js';
import type { Limits } from '../../shared/limits.js';
import type { TriggerOutcome } from '../../shared/triggers.js';
import type { BlobRef } from '../../shared/ids.js';
import type { MoneyBudget, PhaseEstimate, StepUsage } from '../../shared/usage.js';

export const initialPlan = (input: PlanSetup, currentTime_ms: number): PlanState => ({
  ...begin(input, currentTime_ms),
  stage: { at: 'reading', inherit: null, renew: false },
  reading: { number: 1, plan: null, changed: null },
  limits: null,
  phases: [],
  group: { ids: [], baseTested: false, mergedTested: true },
  worktrees: { made: [], kept: [] },
  tests: { answered: false, commands: [], remember: null },
  revision: { current: null, drifts: driftAtStart(input) },
  controls: { pausedBy: null, stopAfterPhase: null },
  counts: { groups: 0, checkpoints: 0, planCalls: 0 },
  records: { failures: [], replans: [], commits: [] },
  estimateAsked: null,
  mayExceedEstimate: false,
  spentBefore: null,
  busy: FREE,
  asked: null,
  again: false,
});

/** The report of `--report-scope-drift`. */
export const driftAtStart = ({ options: { drift } }: PlanSetup): readonly Report[] =>
  drift === null ? [] : [{ trigger: 'scope_drift', text: drift, by: '--report-scope-drift' }];

/** No other run holds the workspace, as far as known. */
export const FREE = { tries: 0, waiting: false } as const;

export interface PhaseEntry
  extends PhaseReading, Pick<ResumePhase, 'replans' | 'forceSpent' | 'failures'> {
  readonly status: PhaseStatus;
  /** The document had it no more when it was read last. */
  readonly gone?: boolean;
  /** Children started for it; the stepKey of the n-th is `<plan's key>-<id>-<n>`. */
  readonly runs: number;
  /** The job of the next or running child. */
  readonly job: { readonly ref: BlobRef; readonly path: string; readonly title: string } | null;
  /** How its last child ended; null: none has. */
  readonly result: StepResult | null;
  readonly commits: readonly string[];
  /** Of a phase that an earlier run committed: what that commit says of its tests. */
  readonly tests: 'pass' | 'no_tests' | null;
  /** Tasks that its commit leaves undone, as far as known. */
  readonly unfinished: number;
  /** The document says how it ended. */
  readonly marked: boolean;
  /** What the next child's job says beside the phase: a person's note, a debugging report. */
  readonly note: string | null;
  readonly report: BlobRef | null;
  /** The next child asks a person itself where its tests fail (the tiers are spent). */
  readonly asksItself: boolean;
  /** It failed by its tests, and what comes next is not yet judged. */
  readonly testsFailed: boolean;
  readonly secondAsked: boolean;
  /** The trigger of complexity was judged. */
  readonly complexityEvaluated: boolean;
  /** A person wants it expanded. */
  readonly mayExpand?: true;
  /** Its check was told before the judgement; not told again when the phase begins. */
  readonly complexityTold: boolean;
  readonly complexity: ComplexityRecord;
  /** Why it is skipped, failed or incomplete. */
  readonly why: string | null;
  /** Where its run works, where it runs beside others; null: in the plan's workspace. */
  readonly worktree: { readonly name: string; readonly workspace: string } | null;
  /** Where it began side by side with others: made again under this name from this base. Null: it did not. */
  readonly tree: { readonly name: string; readonly base: string } | null;
  /** Its branch is merged into the plan's own. */
  readonly merged: boolean;
  /** Marks begun: the next one's record and commit are named after their number. */
  readonly marks: number;
  /** How often its mark was written and found gone. */
  readonly marksLost: number;
  /** A person goes on without its mark. */
  readonly markSkipped: boolean;
  /** Somebody cancelled its last run. */
  readonly cancelled: boolean;
}

/** A trigger that is being dealt with. */
export interface Revising extends Pick<TriggerOutcome, 'actions'> {
  readonly phase: PhaseId;
  readonly trigger: ReplanRecord['trigger'];
  /** `asked`: the plan waits for an answer about it. */
  readonly step: 'debug' | 'propose' | 'apply' | 'asked';
  /** The person or the flag that exceeds the limit of replans; null: the limit holds. */
  readonly forcedBy: string | null;
  /** What a person reports; '' otherwise. */
  readonly words: string;
  /** It is past the limit. */
  readonly beyondLimit: boolean;
  readonly proposal: {
    readonly ref: BlobRef | null;
    readonly action: string;
    readonly why: string;
  } | null;
  /** Why the trigger calls for a replan; '' before its judgement. */
  readonly why: string;
  /** When it led to a replan: ms of the plan's time, which stands still while a person is waited for. */
  readonly triggered?: number;
}

export interface Reading {
  /** A replan is taken over; new phases begin with these counts of the phase that it was for. Null: none is. */
  readonly inherit: Pick<PhaseEntry, 'replans' | 'forceSpent'> | null;
  /** Its texts take the place of lost ones. */
  readonly renew: boolean;
}
export type PlanStage =
  | ({ readonly at: 'reading' } & Reading)
  | { readonly at: 'choosing' | 'worktrees' | 'jobs' | 'running' | 'merging' | 'marking' }
  | Closed<PlanOutcome>;

export interface PlanState extends RunState<PlanSetup> {
  readonly stage: PlanStage;
  readonly reading: {
    /** Of the next reading. */
    readonly number: number;
    readonly plan: ReadyPlan | null;
    /** The document as a person changed it, while they are asked which of the two counts. */
    readonly changed: ReadyPlan | null;
    /** SHA-256 of configuration that the open question is about; absent: none is open. */
    readonly untrusted?: readonly string[];
    /** SHA-256 of configuration that was accepted in this run; absent: none was. */
    readonly trusts?: readonly string[];
  };
  readonly limits: Limits | null;
  readonly phases: readonly PhaseEntry[];
  readonly group: {
    /** The phases under way: one, or a sub-wave. */
    readonly ids: readonly PhaseId[];
    /** The tests pass where the group began; and, after merges, on the merged tree. */
    readonly baseTested: boolean;
    readonly mergedTested: boolean;
  };
  readonly worktrees: {
    /** Names of those that were made and not removed yet. */
    readonly made: readonly string[];
    /** Commits of removed ones that nothing else held. */
    readonly kept: readonly KeptRef[];
  };
  readonly tests: {
    readonly answered: boolean;
    readonly commands: readonly string[];
    /** Records of what a person confirmed (`FoundTests`). */
    readonly remember: readonly string[] | null;
    /** Of phases whose own tasks name commands. */
    readonly own?: Readonly<Record<PhaseId, readonly string[]>>;
  };
  readonly revision: {
    readonly current: Revising | null;
    /** What people report; taken up before the next group. */
    readonly drifts: readonly Report[];
  };
  /** Wanted by a person; taken up between phases. */
  readonly controls: { readonly pausedBy: string | null; readonly stopAfterPhase: string | null };
  readonly counts: {
    /** Groups done in this run. */
    readonly groups: number;
    /** Checkpoints saved. */
    readonly checkpoints: number;
    /** Reports and proposals asked for: each has its own regeneration. */
    readonly planCalls: number;
  };
  readonly records: {
    readonly failures: readonly PhaseFailure[];
    readonly replans: readonly ReplanRecord[];
    /** Of phases, in the order in which they landed. */
    readonly commits: readonly string[];
  };
  /** Written and in no commit yet, oldest first; absent: none. */
  readonly marks?: readonly BlobRef[];
  /** The estimate, in words, as long as a person is to be asked about it. */
  readonly estimateAsked: string | null;
  /** The estimate and the budget that were shown before the first phase; absent: not shown yet. */
  readonly expected?: {
    readonly estimate: PhaseEstimate;
    /** With what earlier runs used; null: there is no money budget. */
    readonly budget: MoneyBudget | null;
  };
  /** A person let the plan go on although it used several times its estimate. */
  readonly mayExceedEstimate: boolean;
  /** What of `usage` its own calls used; absent: none was made. */
  readonly ownUsage?: StepUsage;
  /** Counts against the budgets beside `usage`; null: nothing does. */
  readonly spentBefore: PlanSpent | null;
  /** Another run holds the workspace: how often it was asked for, and whether the next move is to wait. */
  readonly busy: { readonly tries: number; readonly waiting: boolean };
  /** The phase that the open question is about. */
  readonly asked: PhaseId | null;
  /** A person's consent for a phase, for the rest of the plan. */
  readonly withoutSandbox?: true;
  /** What is asked about is an activity that failed; `retry` and the like make its move again. */
  readonly again: boolean;
}
