/** What a run tells of itself, in order. Programs that follow edit runs read the names and fields of the first group, so they stay. */
import type { PauseReason } from './decisions.js';
import type { Bucket, Format } from './formats.js';
import type { PlanEventBody } from './plan/events.js';

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
  | { readonly type: 'ladder'; readonly file: string; readonly to: string }
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
      readonly type: 'sealed';
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
      /** Paths that it leaves out of the change; absent where it leaves out none, and in events of earlier builds. */
      readonly skipped?: readonly string[];
    }
  | { readonly type: 'decision_settled'; readonly decision: string; readonly reason: PauseReason }
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
  | { readonly type: 'rolled_back'; readonly file_count: number; readonly kept: readonly string[] }
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
