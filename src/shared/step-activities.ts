/**
 * What crosses between an edit step's workflow and its activities, but for what comes after the proposal (proposal-activities.ts).
 * ◆ Every input carries `v`. File contents and answers travel as blob references only.
 */
import type { StepEstimate, StepUsage } from './usage.js';
import type { DecisionRequest, PauseReason } from './decisions.js';
import type { StepEvent } from './events.js';
import type { AuditReport } from './audit.js';
import type { Bucket, Format } from './formats.js';
import type { Baseline, Overrides, Limits } from './limits.js';
import type { Problem } from './problems.js';
import type { ModelDown } from './outage.js';
import type { MadeFiles, Picked, PickedFile } from './pick.js';
import type { TestPlan } from './test-plan.js';
import type { BlobRef, StepKey } from './ids.js';
import type { ActivityBase, Application, ProposalActivities } from './proposal-activities.js';
import type { TestActivities } from './test-activities.js';

export interface PreflightInput extends ActivityBase {
  readonly workspace: string;
  /** Null: the file `jobPath` is read. */
  readonly job: BlobRef | null;
  readonly jobPath: string;
  /** ◆ The result is recorded under (stepKey, snapshotNumber) and returned unchanged ever after. */
  readonly snapshotNumber: number;
  readonly overrides: Overrides;
  readonly approval: 'ask' | 'auto' | null;
  readonly hints: readonly string[];
  /** Paths that a model picked, where the job names none. */
  readonly picked: readonly string[] | null;
  /** A model picks, whatever paths the instructions hold; absent: only where they hold none. */
  readonly pick?: true;
  /** Words that a model or a person wants looked for beside the task's; absent: none. */
  readonly lookFor?: readonly string[];
  /** Only these targets get a new base (`regenerate`); null: all. */
  readonly only: readonly string[] | null;
  /** The change is there already: no first call is made. */
  readonly given?: true;
  /** New files that a model named: targets, as far as `create` allows them. Absent: none. */
  readonly made?: readonly string[];
  /** Commit that configuration is read from; absent: it is read from the workspace. */
  readonly configurationCommit?: string;
  /** SHA-256 of configuration that was accepted in this run; absent: none was. */
  readonly trusts?: readonly string[];
}
/** Files that Emend obeys may be a model's work. Nothing was read by them yet. */
export interface UntrustedConfiguration {
  readonly outcome: 'untrusted';
  /** SHA-256 of the contents. */
  readonly hashes: readonly string[];
  /** The files, why they are not trusted, and what they would allow. */
  readonly message: string;
}
export interface Target {
  readonly path: string;
  readonly isNew: boolean;
  readonly format: Format;
  readonly bucket: Bucket;
  readonly lines: number;
  readonly bytes: number;
  readonly outputBudget_tokens: number;
  /** The job says that it goes: no call is made for it. */
  readonly deletes?: true;
}
/** The job that a preflight read from its file. */
export interface ReadJob {
  readonly ref: BlobRef;
  readonly title: string;
}
export type PreflightResult =
  | UntrustedConfiguration
  | {
      readonly outcome: 'ready';
      /** Absent: the input named the stored job. */
      readonly job?: ReadJob;
      /** Full snapshot (JSON blob): targets with base hashes, context, rules, resolved configuration. */
      readonly snapshot: BlobRef;
      readonly limits: Limits;
      readonly approval: 'ask' | 'auto';
      readonly requireMarker: boolean;
      readonly targets: readonly Target[];
      readonly shouldSplit: boolean;
      readonly splitReason: string;
      readonly complexity: 'low' | 'medium' | 'high';
      /** For an unsplit step: one call over all targets. */
      readonly combined: { readonly format: Format; readonly outputBudget_tokens: number } | null;
      readonly briefWanted: boolean;
      readonly test: TestPlan;
      /** When a model audits the change; absent: none does. */
      readonly audit?: 'after_tests' | 'before_approval';
      /** Commit message without trailer; null: no commit asked. `head`: what HEAD named then; absent: it was not noted. */
      readonly commitMessage: string | null;
      readonly head?: string;
      readonly estimate: StepEstimate;
      /** A formatter runs while a proposal is built. */
      readonly formats?: true;
      /** The repository has hooks that run before a commit. */
      readonly runsHooks?: true;
      /** Said before paying; not empty: the step asks (`estimate`). */
      readonly overEstimate: readonly string[];
      readonly warnings: readonly string[];
      /** An OpenSSH `allowed_signers` file: who must sign decisions. Absent: nobody. */
      readonly approvers?: BlobRef;
      /** Why there is no sandbox for the step's commands; absent: there is one, or none is wanted, or no command will run. */
      readonly noSandbox?: string;
      /** Networks that the run's commands reach, in words; absent: none. */
      readonly network?: string;
      /** What becomes of tests that fail on the base; absent: nobody looks, or none are run. */
      readonly baseline?: Exclude<Baseline, 'off'>;
      /** Why the tests run after the apply, in the workspace; absent: they run before it, on an overlay, or there are none. */
      readonly testsAfterApply?: string;
      /** The tests run right before the apply instead of before the approval. */
      readonly testsAfterApproval?: true;
    }
  | {
      readonly outcome: 'pick';
      /** Absent: as above. */
      readonly job?: ReadJob;
      readonly snapshot: BlobRef;
      readonly estimate: StepEstimate;
      /** As it was set; null: it is not set. */
      readonly budget_usd: number | null;
    }
  | { readonly outcome: 'refused'; readonly problem: Problem };

/** Of each activity that asks a model for the step. */
export interface BriefInput extends ActivityBase {
  readonly snapshot: BlobRef;
  /** Limits that decisions changed since preflight; absent: none. */
  readonly limits?: Partial<Limits>;
}
/** No answer that can be used. */
export interface Unanswered {
  readonly outcome: 'failed';
  readonly reason: PauseReason;
  readonly message: string;
  readonly usage: StepUsage;
  /** With `model_unavailable`: the run waits and asks again. */
  readonly down?: ModelDown;
}
export type PickInput = BriefInput & { readonly regeneration: number };
export type PickResult = Unanswered | (Picked & { readonly usage: StepUsage });
export interface BriefResult {
  /** Null: no usable answer; the chunks go without. */
  readonly brief: BlobRef | null;
  readonly usage: StepUsage;
  readonly message: string | null;
  readonly down?: ModelDown;
  /** New files that it names, for a call each; absent: none. */
  readonly newFiles?: readonly PickedFile[];
}
export interface ProposeInput extends PickInput {
  /** `*`: all targets in one call. */
  readonly file: string;
  /** Number of this chunk in the step; later results of a file replace earlier ones. */
  readonly seq: number;
  readonly format: Format;
  readonly outputBudget_tokens: number;
  /** Null: routed by category and complexity. */
  readonly model: string | null;
  readonly brief: BlobRef | null;
  /** Heads of the chain of accepted results. */
  readonly accepted: readonly BlobRef[];
  /** The person's note (`revise`, `retry`). */
  readonly note: string | null;
  /** What was refused last, with the edit. */
  readonly refusal: BlobRef | null;
  /** Absent: the call is for whole files. */
  readonly region?: RegionPart;
  /** Absent: nothing was asked for. */
  readonly lines?: LinesAsked;
  /** What a person said of secrets; absent: nothing, it is as configured. */
  readonly secrets?: 'mask' | 'send';
  /** The response before this call was whole but without its completeness marker. Absent: it was not. */
  readonly markerAsked?: true;
}
/** A file that is edited in regions, one call each: which of them comes next. */
export interface RegionPart {
  /** Blob with the regions (`RegionPlan`). */
  readonly plan: BlobRef;
  /** 0-based. */
  readonly index: number;
  /** Blob with what the regions before said (`RegionWork`); null at the first. */
  readonly work: BlobRef | null;
}
/** Lines that a model asked to be shown: a blob with ranges, and how often it has asked. */
export interface LinesAsked {
  readonly ranges: BlobRef;
  readonly asked: number;
}
/** What a truncated answer leads to: computed by the activity, so that better fallbacks break no paused run. */
export type FallbackStep =
  | { readonly kind: 'split' }
  | { readonly kind: 'budget'; readonly outputBudget_tokens: number }
  | { readonly kind: 'format'; readonly format: Format; readonly outputBudget_tokens: number }
  | {
      readonly kind: 'regions';
      readonly format: Format;
      readonly outputBudget_tokens: number;
      readonly region: RegionPart;
      /** In words, for the events. */
      readonly to: string;
    }
  | { readonly kind: 'exhausted' };
export interface Repair {
  readonly message: string;
  readonly refusal: BlobRef;
  /** Hash of the result: the same one a second time is meant. */
  readonly result: string;
}
export type ProposeResult = { readonly usage: StepUsage } & (
  | {
      readonly outcome: 'edited' | 'unchanged';
      readonly accepted: BlobRef;
      readonly changed: readonly string[];
      /** Files that it makes beside those that it was asked for; absent: none. */
      readonly made?: MadeFiles;
      /** Of `unchanged`: why, as the model says it; absent: it does not. */
      readonly reason?: string;
      /** What guards found, for the model to fix; absent: nothing, or it is not asked. */
      readonly repair?: Repair;
    }
  | {
      readonly outcome: 'truncated';
      readonly reason: string;
      readonly stopReason: string | null;
      readonly partialLength: number;
      readonly next: FallbackStep;
    }
  /** A region is done, and another one follows. */
  | { readonly outcome: 'region_done'; readonly region: RegionPart; readonly to: string }
  /** No edit: the next call shows these lines, too. */
  | { readonly outcome: 'needs_lines'; readonly lines: LinesAsked; readonly to: string }
  /** Counted attempts: the next one is told `refusal`. */
  | {
      readonly outcome: 'invalid' | 'refused' | 'unmarked';
      readonly message: string;
      readonly refusal: BlobRef;
      /** The answer before was refused for the same reasons; absent: it was not. */
      readonly repeated?: boolean;
      /** The format to ask in once the attempts in this one are spent; absent: there is none. */
      readonly next?: Format;
    }
  /** Nothing was sent: the request for these files would hold secrets, and a person is to be asked. */
  | {
      readonly outcome: 'secret_found';
      readonly message: string;
      readonly files: readonly string[];
    }
  /** Not tried again without a person. */
  | { readonly outcome: 'declined' | 'prompt_cut' | 'call_lost'; readonly message: string }
  | { readonly outcome: 'model_unavailable'; readonly message: string; readonly down: ModelDown }
);

export interface AuditInput extends BriefInput {
  /** What is to be audited: first base and last result of each file. */
  readonly applications: readonly Application[];
  readonly regeneration: number;
  /** Answers that may be asked for until one is an audit. */
  readonly calls: number;
  readonly secrets?: 'mask' | 'send';
}
/** `refusal`: what the next attempt is told; null: it passed. `failed`: there is no audit, which is no pass. */
export type AuditResult =
  | Unanswered
  | {
      readonly outcome: 'audited';
      readonly report: AuditReport;
      readonly refusal: BlobRef | null;
      readonly usage: StepUsage;
    };

/** The usage of all of a step's calls by the journal; wanted where an activity ended without telling. */
export type CountUsageInput = ActivityBase;
export interface CountUsageResult {
  readonly usage: StepUsage;
  /** Calls that had not ended; counted as cut off. */
  readonly open: number;
}

/**
 * Where a workflow tells its worker what no activity follows to tell: the events up to a pause or the end. Best effort and idempotent:
 * the next activity tells them again.
 */
export interface ArchiveSink {
  append(stepKey: StepKey, events: readonly StepEvent[]): void;
}

export interface VerifyDecisionInput extends ActivityBase {
  readonly approvers: BlobRef;
  /** The hash of the proposal that the open decision is about. */
  readonly proposal: string | null;
  readonly request: DecisionRequest;
}

/** The activities as workflows see them. `createActivities` in src/activities is checked against this. */
export interface StepActivities extends ProposalActivities, TestActivities {
  preflight(input: PreflightInput): Promise<PreflightResult>;
  pickFiles(input: PickInput): Promise<PickResult>;
  writeBrief(input: BriefInput): Promise<BriefResult>;
  proposeEdit(input: ProposeInput): Promise<ProposeResult>;
  countUsage(input: CountUsageInput): Promise<CountUsageResult>;
  auditChange(input: AuditInput): Promise<AuditResult>;
  verifyDecision(
    input: VerifyDecisionInput,
  ): Promise<{ readonly signer: string } | { readonly why: string }>;
}
