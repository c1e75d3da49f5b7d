/** What a run tells of itself, in order. Programs that follow edit runs read the names and fields of the first group, so they stay. */
import type { PauseReason } from './decisions.js';
import type { Bucket, Format } from './formats.js';
import type { PhaseEstimate, PhaseMarker, PlanOutcome } from './plan.js';
import type { StepUsage } from './usage.js';

export interface Progress {
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  readonly total: number;
}

export type EventBody =
  | PlanEventBody
  | {
      readonly type: 'preflight_complete';
      readonly shouldSplit: boolean;
      readonly reason: string;
      readonly targetFileCount: number;
      readonly estimatedComplexity: 'low' | 'medium' | 'high';
    }
  | {
      readonly type: 'truncation_detected';
      readonly file: string;
      readonly reason: string;
      readonly partialLength: number;
      readonly stopReason: string | null;
    }
  | { readonly type: 'edit_split_triggered'; readonly reason: string; readonly file_count: number }
  | {
      readonly type: 'edit_chunk_started';
      readonly file: string;
      readonly chunk_index: number;
      readonly total_chunks: number;
    }
  | { readonly type: 'edit_chunk_completed'; readonly file: string }
  | { readonly type: 'edit_chunk_failed'; readonly file: string; readonly reason: string }
  | {
      readonly type: 'edit_step_paused';
      readonly reason: PauseReason;
      readonly progress: Progress;
      readonly decision: string;
      readonly mustSign?: true;
    }
  | {
      readonly type: 'format_chosen';
      readonly bucket: Bucket;
      readonly file_path: string;
      readonly line_count: number;
      readonly format: Format;
      /** The job says that it goes, and nobody is asked in any format; absent: it is edited. */
      readonly deletes?: true;
    }
  | { readonly type: 'fallback'; readonly file: string; readonly to: string }
  | {
      readonly type: 'answer_refused';
      readonly file: string;
      readonly outcome: string;
      readonly attempt: number;
      readonly message: string;
    }
  | { readonly type: 'warning'; readonly message: string }
  | {
      /** The model did not answer: what its server said. */
      readonly type: 'model_down';
      /** Id of the wait. */
      readonly wait: string;
      readonly message: string;
      readonly file: string;
      readonly tries: number;
      /** Workflow time of the next try, ms since the epoch; null: a person is asked. */
      readonly next: number | null;
    }
  | { readonly type: 'files_picked'; readonly file_count: number }
  | { readonly type: 'brief_ready' }
  | {
      readonly type: 'proposal_ready';
      readonly proposal: string;
      readonly file_count: number;
      readonly added: number;
      readonly removed: number;
    }
  | {
      readonly type: 'decided';
      readonly decision: string;
      readonly answer: string;
      readonly files: number;
      readonly by: string;
      /** Paths that it leaves out of the change. */
      readonly skipped: readonly string[];
    }
  | { readonly type: 'decision_resolved'; readonly decision: string; readonly reason: PauseReason }
  | { readonly type: 'decision_ignored'; readonly what: string; readonly why: string }
  | { readonly type: 'applied'; readonly file_count: number; readonly proposal: string }
  | { readonly type: 'apply_busy'; readonly holder: string; readonly advice?: string }
  | { readonly type: 'conflict'; readonly files: readonly string[]; readonly where: 'apply' | 'commit' | 'rebase' }
  | { readonly type: 'rebased'; readonly clean: boolean }
  | {
      readonly type: 'verified';
      readonly outcome: string;
      readonly kind: string | null;
      readonly signature: string | null;
      readonly summary: string;
    }
  | { readonly type: 'rolled_back'; readonly file_count: number; readonly leftAlone: readonly string[] }
  | { readonly type: 'committed'; readonly commit: string; readonly note: string | null }
  | { readonly type: 'activity_failed'; readonly activity: string; readonly message: string }
  | { readonly type: 'abort_requested'; readonly by: string }
  | { readonly type: 'step_finished'; readonly outcome: string };

/** `seq` rises by one per event of a run; `at` is workflow time in ms since the epoch. */
export type StepEvent = EventBody & { readonly seq: number; readonly at: number };

/** The newest events of a run; all of them go to the archive. */
export interface EventLog {
  readonly events: readonly StepEvent[];
  readonly nextSeq: number;
}

export const NO_EVENTS: EventLog = { events: [], nextSeq: 1 };

// What a plan tells of itself: its seven steps a phase, failures, pauses and its end. `phase` is the number in the document.

export type PlanEventBody =
  | {
      readonly type: 'plan_started';
      /** Its path in the workspace, without its level; absent: told by an earlier Emend. */
      readonly plan?: string;
      readonly phases: number;
      readonly done: number;
      readonly mode: 'sequential' | 'waves';
      readonly waves: readonly (readonly number[])[];
    }
  | ({
      readonly type: 'plan_estimated';
      /** Still to be done. */
      readonly phases: number;
      /** If each fails its tests up to its limit of replans; absent: not known, or nothing is tested. */
      readonly most?: PhaseEstimate;
      /** Budgets that it is over, in words. */
      readonly over: readonly string[];
    } & PhaseEstimate)
  /** What an earlier run left was taken over: phases that it committed, its counts. */
  | {
      readonly type: 'resumed_from';
      /** Null: from commits alone. */
      readonly run: string | null;
      readonly committed: readonly number[];
      readonly failures: number;
      readonly replans: number;
      /** What earlier runs used of the budgets; absent: nothing that is known. */
      readonly spent?: StepUsage;
    }
  // step 1: read and scored, before the phase begins
  | {
      readonly type: 'phase_started';
      readonly phase: number;
      readonly total: number;
      readonly name: string;
      readonly tasks: number;
    }
  | {
      readonly type: 'complexity_checked';
      readonly phase: number;
      readonly score: number;
      readonly threshold: number;
      readonly expanded: boolean;
      readonly above: readonly string[];
      readonly method: string;
    }
  // step 2: its edit step; 3: tests; 4: commit
  | { readonly type: 'phase_editing'; readonly phase: number; readonly run: number; readonly child: string }
  /** After a failed attempt it is asked for in another way: `format unified-diff`, `model NAME`. */
  | { readonly type: 'phase_fallback'; readonly phase: number; readonly to: string }
  | { readonly type: 'phase_tested'; readonly phase: number; readonly outcome: string }
  | { readonly type: 'phase_committed'; readonly phase: number; readonly commit: string }
  | {
      readonly type: 'phase_failed';
      readonly phase: number;
      readonly run: number;
      readonly kind: string | null;
      readonly signature: string | null;
      /** Failed verifications in a row in this phase. */
      readonly consecutive: number;
      readonly summary: string;
    }
  | { readonly type: 'phase_closed'; readonly phase: number; readonly as: PhaseMarker; readonly why: string }
  // of a phase that ran beside others
  | { readonly type: 'phase_merged'; readonly phase: number; readonly commit: string | null }
  | { readonly type: 'merged_tested'; readonly outcome: string; readonly summary: string }
  | {
      readonly type: 'worktree_removed';
      readonly name: string;
      readonly dropped: string | null;
      readonly kept?: string;
    }
  // 5: marked in the document; 6: checkpoint; 7: markers looked at before the next phase
  | {
      readonly type: 'phase_marked';
      readonly phase: number;
      readonly marker: PhaseMarker;
      readonly commit: string | null;
      readonly why: string | null;
    }
  | { readonly type: 'checkpoint_saved'; readonly number: number; readonly path: string }
  | { readonly type: 'markers_checked'; readonly lost: readonly number[] }
  // triggers, replans, loop stops
  | {
      readonly type: 'second_score';
      readonly phase: number;
      readonly score: number;
      readonly method: string;
      /** Why there is none. */
      readonly message: string | null;
    }
  | {
      readonly type: 'score_discrepancy';
      readonly phase: number;
      readonly threshold: number;
      readonly agent: number;
      readonly reasoning: string;
    }
  | {
      readonly type: 'trigger_checked';
      readonly phase: number;
      readonly trigger: string;
      readonly tier: string | null;
      readonly outcome: string;
      readonly why: string;
      readonly replans: number;
      readonly limit: number;
    }
  | {
      readonly type: 'replan_triggered';
      readonly phase: number;
      readonly trigger: string;
      readonly replans: number;
      readonly limit: number;
      readonly status: 'invoked' | 'forced';
    }
  | {
      readonly type: 'replanned';
      readonly phase: number;
      readonly trigger: string;
      readonly action: string;
      readonly oldStructure: string;
      readonly newStructure: string;
      readonly complexityBefore: number;
      readonly complexityAfter: number;
      readonly forced: boolean;
      readonly replans: number;
      readonly commit: string | null;
      /** Since it was triggered, without the time that waited for a person; absent: told by an earlier Emend. */
      readonly duration_ms?: number;
    }
  | { readonly type: 'replan_failed'; readonly phase: number; readonly trigger: string; readonly why: string }
  | {
      readonly type: 'loop_stopped';
      readonly phase: number;
      readonly replans: number;
      readonly limit: number;
      readonly why: string;
    }
  | {
      readonly type: 'debug_report';
      readonly phase: number;
      readonly path: string | null;
      readonly message: string | null;
    }
  | { readonly type: 'scope_drift'; readonly text: string; readonly by: string }
  // a person's wishes
  | { readonly type: 'plan_paused'; readonly by: string }
  | { readonly type: 'plan_resumed'; readonly by: string }
  | { readonly type: 'plan_stop_wanted'; readonly by: string }
  | { readonly type: 'plan_finished'; readonly outcome: PlanOutcome };
