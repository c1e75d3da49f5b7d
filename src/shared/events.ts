/** What a run tells of itself, in order: the fields of each event, by its type. Programs that follow edit runs read those of a job, so they stay. */
import type { PauseReason } from './decisions.js';
import type { AuditReport } from './audit.js';
import type { Bucket, Format } from './formats.js';
import type { PhaseEstimate, PhaseMarker, PlanOutcome } from './plan.js';
import type { PickedFile } from './pick.js';
import type { MoneyBudget, StepEstimate, StepUsage } from './usage.js';

export type Progress = Readonly<Record<'done' | 'failed' | 'skipped' | 'total', number>>;

export interface JobEvents {
  preflight_complete: {
    shouldSplit: boolean;
    reason: string;
    targetFileCount: number;
    estimatedComplexity: 'low' | 'medium' | 'high';
  };
  /** Before the first call, and again once the files are picked. `budget` null: there is no money budget. */
  estimated: StepEstimate & { budget: MoneyBudget | null };
  truncation_detected: {
    file: string;
    reason: string;
    partialLength: number;
    stopReason: string | null;
  };
  edit_split_triggered: { reason: string; file_count: number };
  edit_chunk_started: { file: string; chunk_index: number; total_chunks: number };
  edit_chunk_completed: {
    file: string;
    /** Why it changes nothing, in the model's words. */ unchanged?: string;
  };
  edit_chunk_failed: { file: string; reason: string };
  edit_step_paused: { reason: PauseReason; progress: Progress; decision: string; mustSign?: true };
  format_chosen: {
    bucket: Bucket;
    file_path: string;
    line_count: number;
    format: Format;
    /** The job says that it goes, and nobody is asked in any format; absent: it is edited. */
    deletes?: true;
  };
  fallback: { file: string; to: string };
  answer_refused: { file: string; outcome: string; attempt: number; message: string };
  warning: { message: string };
  /** The model did not answer: what its server said. */
  model_down: {
    /** Id of the wait. */
    wait: string;
    message: string;
    file: string;
    tries: number;
    /** Workflow time of the next try, ms since the epoch; null: a person is asked. */
    next: number | null;
  };
  files_picked: { file_count: number; files: readonly PickedFile[] };
  /** The model asked for these words to be looked for. */
  looking_for: { words: readonly string[] };
  brief_ready: object;
  proposal_ready: {
    proposal: string;
    file_count: number;
    added: number;
    removed: number;
    /** `tolerance path:line` of each that was used, the first of them; absent: none was used. */
    tolerances?: readonly string[];
    /** Number of further tolerances that are not listed; absent: none. */
    moreTolerances?: number;
  };
  decided: {
    decision: string;
    answer: string;
    files: number;
    by: string;
    /** Paths that it leaves out of the change. */
    skipped: readonly string[];
  };
  decision_resolved: { decision: string; reason: PauseReason };
  decision_ignored: { what: string; why: string };
  applied: { file_count: number; proposal: string };
  apply_busy: { holder: string; advice?: string };
  conflict: { files: readonly string[]; where: 'apply' | 'commit' | 'rebase' };
  rebased: { clean: boolean };
  verified: { outcome: string; kind: string | null; signature: string | null; summary: string };
  /** Tests on the files before the change. */
  base_tested: { outcome: string; summary: string };
  audited: AuditReport;
  rolled_back: { file_count: number; leftAlone: readonly string[] };
  committed: { commit: string; note: string | null };
  activity_failed: { activity: string; message: string };
  abort_requested: { by: string };
  step_finished: { outcome: string };
}

// What a plan tells of itself: its seven steps a phase, failures, pauses and its end. `phase` is the number in the document.
export interface PlanEvents {
  plan_started: {
    /** Its path in the workspace, without its level. */
    plan: string;
    phases: number;
    done: number;
    mode: 'sequential' | 'waves';
    waves: readonly (readonly number[])[];
  };
  plan_estimated: {
    /** Still to be done. */
    phases: number;
    /** If each fails its tests up to its limit of replans; absent: not known, or nothing is tested. */
    most?: PhaseEstimate;
    /** Budgets that it is over, in words. */
    over: readonly string[];
    /** Money that the plan may use; null: there is no money budget. */
    budget: MoneyBudget | null;
  } & PhaseEstimate;
  /** What an earlier run left was taken over: phases that it committed, its counts. */
  resumed_from: {
    /** Null: from commits alone. */
    run: string | null;
    committed: readonly number[];
    failures: number;
    replans: number;
    /** What earlier runs used of the budgets; absent: nothing that is known. */
    spent?: StepUsage;
  };
  // step 1: read and scored, before the phase begins
  /** `list`: their texts, the first of them, each cut short; absent: one holds a secret. `place`: in the document, of `total`. */
  phase_started: {
    phase: number;
    place: number;
    total: number;
    name: string;
    tasks: number;
    list?: readonly string[];
  };
  complexity_checked: {
    phase: number;
    score: number;
    threshold: number;
    expanded: boolean;
    above: readonly string[];
    method: string;
  };
  // step 2: its edit step; 3: tests; 4: commit
  phase_editing: { phase: number; run: number; child: string };
  /** After a failed attempt it is asked for in another way: `format unified-diff`, `model NAME`. */
  phase_fallback: { phase: number; to: string };
  phase_tested: { phase: number; outcome: string };
  phase_committed: { phase: number; commit: string };
  phase_failed: {
    phase: number;
    run: number;
    kind: string | null;
    signature: string | null;
    /** Failed verifications in a row in this phase. */
    consecutive: number;
    summary: string;
  };
  phase_closed: { phase: number; as: PhaseMarker; why: string };
  // of a phase that ran beside others
  phase_merged: { phase: number; commit: string | null };
  merged_tested: { outcome: string; summary: string };
  worktree_removed: { name: string; dropped: string | null; kept?: string };
  // 5: marked in the document; 6: checkpoint; 7: markers looked at before the next phase
  phase_marked: { phase: number; marker: PhaseMarker; commit: string | null; why: string | null };
  checkpoint_saved: { number: number; path: string };
  markers_checked: { lost: readonly number[] };
  // triggers, replans, loop stops
  second_score: {
    phase: number;
    score: number;
    method: string;
    /** Why there is none. */
    message: string | null;
  };
  score_discrepancy: { phase: number; threshold: number; agent: number; reasoning: string };
  trigger_checked: {
    phase: number;
    trigger: string;
    tier: string | null;
    outcome: string;
    why: string;
    replans: number;
    limit: number;
  };
  replan_triggered: {
    phase: number;
    trigger: string;
    replans: number;
    limit: number;
    status: 'invoked' | 'forced';
  };
  replanned: {
    phase: number;
    trigger: string;
    action: string;
    oldStructure: string;
    newStructure: string;
    complexityBefore: number;
    complexityAfter: number;
    forced: boolean;
    replans: number;
    commit: string | null;
    /** Since it was triggered, without the time that waited for a person. */
    duration_ms: number;
  };
  replan_failed: { phase: number; trigger: string; why: string };
  /** The limit of replans was reached, or a person's order exceeded it. */
  loop_stopped: {
    phase: number;
    replans: number;
    limit: number;
    status: 'limit_reached' | 'forced_override';
    why: string;
  };
  debug_report: { phase: number; path: string | null; message: string | null };
  /** `phase`: the one that is judged for it as far as known now; null: the plan was not read yet. */
  scope_drift: { phase: number | null; text: string; by: string };
  /** A person says how the plan is to be revised. */
  revision_wanted: { phase: number | null; text: string; by: string };
  // a person's wishes
  plan_paused: { by: string };
  plan_resumed: { by: string };
  plan_stop_wanted: { by: string };
  plan_finished: { outcome: PlanOutcome };
}

export type EventType = keyof (JobEvents & PlanEvents);
/** Of one type, or of one of several. */
export type EventOf<T extends EventType> = {
  [N in T]: { readonly type: N } & Readonly<(JobEvents & PlanEvents)[N]>;
}[T];
export type EventBody = EventOf<EventType>;

/** `seq` rises by one per event of a run; `at` is workflow time in ms since the epoch. */
export type StepEvent = EventBody & { readonly seq: number; readonly at: number };

/** The newest events of a run; all of them go to the archive. */
export interface EventLog {
  readonly events: readonly StepEvent[];
  readonly nextSeq: number;
}

export const NO_EVENTS: EventLog = { events: [], nextSeq: 1 };
