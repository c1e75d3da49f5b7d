/**
 * What `--json` prints, by command: one type for each. docs/reference/json.schema.json is generated from these types
 * (scripts/json-schema.js), so a field that is added, renamed or goes away changes that file, and a test says so.
 */
import type { PatchedFile } from './local/patch.js';
import type { ReportMore } from './report/document.js';
import type { LocallyApplied } from './local/open.js';
import type { NotEdited, UsedTolerance, Reason } from '../edits/index.js';
import type { AnswerFormat, Finding, Format } from '../shared/formats.js';
import type { LastChange } from '../workspace/apply/index.js';
import type { DecideResult } from '../client/runs/decide.js';
import type { EndedWorktree } from '../client/ended/worktrees.js';
import type { Backup } from '../client/files/backup.js';
import type { Restored } from '../client/files/restore.js';
import type { VerifiedFiles } from '../client/files/verify.js';
import type { Removed, Unused } from '../client/gc/index.js';
import type { EndedLock, StaleLock } from '../client/ended/release-lock.js';
import type { ReleasedLock } from '../client/ended/stale-locks.js';
import type { StepKey } from '../shared/ids.js';
import type { CallTexts, ListedCalls, SentContext, ShownCall } from '../client/runs/calls.js';
import type { HostView } from '../client/runs/hosts.js';
import type { RunList } from '../client/runs/list.js';
import type { PhaseCost } from '../client/archive/phase-costs.js';
import type { ReportFacts } from '../client/archive/report.js';
import type { RunStats } from '../client/archive/statistics.js';
import type { ShownRun, TestRun } from '../client/runs/show.js';
import type { StartedStep } from '../client/runs/start.js';
import type { ClosedRun } from '../client/types.js';
import type { PlanReport, PlanStats } from '../documents/plan/index.js';
import type { PlanTest } from '../workspace/documents/index.js';
import type { DecisionPoint } from '../shared/decisions.js';
import type { StepEvent } from '../shared/events.js';
import type { ExitCode, Problem } from '../shared/problems.js';
import type { RunState, StepStatus } from '../shared/run.js';
import type { StepUsage } from '../shared/usage.js';
import type { FileSince } from '../shared/event-text.js';
import type { ProposalSummary } from '../shared/proposal-activities.js';
import type { RecoveredTransaction, ConflictFile } from '../workspace/ports.js';
import type { Estimated, Replayed } from '../worker/index.js';
import type { FollowedPlan } from './follow-run.js';
import type { WrittenFile } from './commands/plan-files.js';

/** `tests`, phase null: of those that are not named. A command that was found and not configured is asked about before it runs. */
export type CheckedPlan = PlanReport & {
  readonly tests: readonly Pick<PlanTest, 'phase' | 'commands' | 'source'>[];
};

/** The JSON of `emend undo --json`; docs/cli.md describes it. */
export interface UndoReport {
  readonly v: 1;
  readonly outcome: 'undone' | 'would_undo' | 'nothing' | 'touched' | 'committed' | 'partly_undone';
  readonly workspace: string;
  /** Key of the patch or run that made the change; null: there is none. */
  readonly step: string | null;
  readonly by: LastChange['by'] | null;
  /** ISO time of the change. */
  readonly at: string | null;
  readonly commit: string | null;
  readonly files: LastChange['files'];
  readonly conflicts: readonly ConflictFile[];
  readonly recovered: readonly RecoveredTransaction[];
  readonly exit: ExitCode;
}

/** The JSON of `emend patch --json`; docs/cli.md describes it. */
export interface PatchReport extends Pick<
  UndoReport,
  'v' | 'workspace' | 'conflicts' | 'recovered' | 'exit'
> {
  readonly outcome: LocallyApplied['outcome'] | 'would_apply' | NotEdited['outcome'];
  /** With --check: nothing was written. */
  readonly checked: boolean;
  readonly format: AnswerFormat;
  /** Key of what was applied; null: nothing was. */
  readonly patch: string | null;
  readonly files: readonly PatchedFile[];
  readonly tolerances: readonly UsedTolerance[];
  readonly findings: readonly Finding[];
  readonly notes: readonly Reason[];
  readonly reasons: readonly Reason[];
  /** The combined diff; '' where there is none. */
  readonly diff: string;
}

interface Begun extends StartedStep {
  readonly v: 1;
  /** Address in the Temporal UI; null where none is known. */
  readonly link: string | null;
  readonly exit: ExitCode;
}
export type RunOutcome =
  | ({ readonly state: 'closed' } & ClosedRun)
  | {
      readonly state: 'waiting';
      readonly decision: DecisionPoint | null;
      readonly status: StepStatus;
      /** What a policy said; empty without one. */
      readonly why: readonly string[];
    }
  | { readonly state: 'no_worker'; readonly message: string }
  | { readonly state: 'interrupted' };
interface Recovered {
  readonly transactions: readonly RecoveredTransaction[];
  readonly locks: readonly StaleLock[];
  readonly released: readonly ReleasedLock[];
}

export interface JsonOutputs {
  readonly error: {
    readonly error: Partial<Problem> & { readonly problems: readonly Problem[] };
    readonly exit: ExitCode;
  };
  readonly run: Begun & RunOutcome;
  /** One a line, before the line of the end. `plan run --wait` too, where `stepKey` is the plan's run or a phase's. */
  readonly 'run --wait': { readonly stepKey: StepKey; readonly event: StepEvent };
  /** Of a plan, too. */
  readonly 'run --estimate': Estimated & {
    readonly v: 1;
    readonly path: string;
    readonly exit: ExitCode;
  };
  readonly list: RunList & Recovered;
  readonly hosts: {
    readonly v: 1;
    readonly hosts: readonly HostView[];
    /** Number of older open runs that were not read, so that no host is shown to have them. */
    readonly unread: number;
    readonly note: string | null;
  };
  readonly show: ShownRun;
  readonly 'show --tests': readonly TestRun[];
  readonly 'show --context': readonly SentContext[];
  /** Null: the run has no proposal. */
  readonly diff: {
    readonly proposal: ProposalSummary;
    /** With `--since`: from that version to this one. */
    readonly diff: string;
    readonly since?: {
      readonly version: number;
      readonly notes: readonly string[];
      readonly files: readonly FileSince[];
    };
  } | null;
  readonly calls: { readonly v: 1; readonly stepKey: StepKey } & ListedCalls;
  readonly 'calls N': { readonly v: 1 } & ShownCall & CallTexts;
  /** One a line. */
  readonly events: StepEvent;
  /** One a line. */
  readonly watch: {
    readonly v: 1;
    readonly at: string;
    readonly stepKey: string;
    readonly state: RunState;
    readonly doing: string;
    readonly job: string;
    readonly decision: Pick<DecisionPoint, 'id' | 'reason'> | null;
    readonly note: string | null;
  };
  /** `phases`: of a plan, what each cost. */
  readonly report: ReportFacts & ReportMore;
  readonly stats: {
    readonly v: 1;
    readonly costs?: readonly PhaseCost[];
    readonly steps?: RunStats;
  } & PlanStats;
  /** `approve`, `skip`, `retry`, `revise` and `abort` too. */
  readonly decide: DecideResult;
  readonly patch: PatchReport;
  readonly undo: UndoReport;
  readonly doctor: readonly Check[];
  readonly replay: Replayed & { readonly v: 1; readonly build: string };
  readonly 'doctor --model': {
    readonly v: 1;
    readonly model: string;
    /** `num_ctx`, where the server is Ollama; else null. */
    readonly serverContext_tokens: number | null;
    readonly trials: readonly FormatTrial[];
  };
  readonly 'doctor --deep': { readonly v: 1 } & VerifiedFiles;
  readonly backup: { readonly v: 1; readonly store: string | null } & Backup;
  readonly restore: { readonly v: 1; readonly open: readonly StepKey[] } & Restored;
  readonly recover: {
    readonly v: 1;
    readonly worktrees: readonly EndedWorktree[];
    /** Paths of the layers of killed commands that were removed. */
    readonly layers: readonly string[];
  } & Recovered;
  /** `--keep` too. */
  readonly 'recover --undo': {
    readonly v: 1;
    readonly stepKey: string;
    readonly workspace: string;
  } & EndedLock;
  readonly gc: { readonly v: 1; readonly removed: boolean } & Removed & Unused;
  /** `plan score` and `plan show` too. */
  readonly 'plan check': CheckedPlan;
  /** `plan collapse` too. */
  readonly 'plan expand': {
    readonly v: 1;
    readonly verb: 'expand' | 'collapse';
    readonly kind: 'phase' | 'stage';
    readonly parts: readonly {
      readonly phase: number;
      readonly stage: number | null;
      readonly why: string | null;
    }[];
    readonly files: readonly WrittenFile[];
  };
  readonly 'plan rollback': {
    readonly v: 1;
    readonly phase: number;
    readonly commit: string;
    /** Newest first. */
    readonly reverted: readonly string[];
    readonly files: readonly string[];
  };
  readonly 'plan run': Begun & FollowedPlan;
  /** `plan resume`, `plan stop`, `plan drift` and `plan revise` too. */
  readonly 'plan pause': {
    readonly v: 1;
    /** Of the run that the message reached. */
    readonly stepKey: string;
    readonly workflowId: string;
    readonly control: 'pause' | 'resume' | 'stop' | 'drift' | 'revise';
  };
  readonly 'plan status': ShownRun;
}
export type JsonCommand = keyof JsonOutputs;

/** The commands that print one object a line, or one that others read line by line. */
export const IN_A_LINE: readonly JsonCommand[] = [
  'run',
  'run --wait',
  'plan run',
  'events',
  'watch',
  'decide',
  'stats',
  'plan pause',
];

export interface FormatTrial extends Pick<StepUsage, 'input_tokens' | 'output_tokens' | 'seconds'> {
  readonly format: Format;
  /** The answer was used and the file is as it should be. */
  readonly works: boolean;
  /** In a word: the answer's outcome, `wrong` (used, and another change than the one asked for), `prompt_cut`, or a failed call's kind. */
  readonly outcome: string;
  /** Why it does not work; empty where it does. */
  readonly message: string;
}

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** One line; never a secret. */
  readonly found: string;
  /** What to type; null where nothing is wrong. */
  readonly fix: string | null;
}
