/**
 * A plan's run: what it is started with, what is read of the document, and its state. Plain data; texts travel as blob references.
 * Phase ids (`p1`, `p2`... by first sight) never change and stand in no document.
 */
import type { AuditReport } from './audit.js';
import type { StepKey, BlobRef } from './ids.js';
import type { Failure } from './failure.js';
import type { PlanOutcome, PlanProgress } from './plan.js';
import type { MoneyBudget, StepEstimate, StepUsage } from './usage.js';
import type { Rules } from './rules.js';
import type { DecisionPoint } from './decisions.js';
import type { Target } from './step-activities.js';
import type { Overrides, Timings } from './limits.js';
import type { Problem, Version } from './problems.js';
import type { Outage } from './outage.js';
import type { Queues } from './names.js';
import type { RepositoryBase } from './repository.js';
import type { ProposalSummary } from './proposal-activities.js';
import { type ToleranceList, toleranceSentences } from './tolerance-text.js';

export interface PlanOptions {
  /** Begin with this phase: those before it are taken as done. Null: with the first that is not done. */
  readonly phase: number | null;
  /** `auto`: waves where a phase declares dependencies, else one after the other. */
  readonly mode: 'auto' | 'sequential' | 'waves';
  /** Replan past the limit (resets the counter, logged). */
  readonly forceReplan: boolean;
  /** What a person reports as out of the plan's scope (`--report-scope-drift`). */
  readonly drift: string | null;
  /** Is a person asked about the estimate before the first phase? `approved`: only where it is over a budget. */
  readonly estimate: 'ask' | 'approved';
  /** Go by the markers alone, whatever an earlier run left. */
  readonly restart: boolean;
}
/** What a plan goes by. `workspace` is a git working tree. */
export interface PlanSetup extends RunSetup {
  /** Workspace-relative, without its level: `plans/010_demo` for `plans/010_demo.md` and `plans/010_demo/010_demo.md`. */
  readonly planPath: string;
  readonly options: PlanOptions;
  /** The earlier run of this plan that saved the newest checkpoint; absent: none is known. */
  readonly resumeFrom?: StepKey;
}
/** What a run takes over from the run before it (continue-as-new). `state`: a PlanState or a StepState. */
export interface Carried {
  readonly v: Version;
  readonly state: unknown;
  readonly reportedSeq: number;
  readonly count: UsageOwed;
}

/** What every run goes by. The first activity returns it for the input of the run; a phase of a plan gets it from its plan. */
export interface RunSetup {
  readonly stepKey: StepKey;
  /** Absolute real path on the host that `queues.host` names; of a repository its URL. */
  readonly workspace: string;
  /** Any host may do its work; absent: the workspace is a directory. */
  readonly repository?: RepositoryBase;
  readonly title: string;
  readonly queues: Queues;
  readonly timings: Timings;
  /** What replay goes by; a plan's phases have their plan's. */
  readonly rules: Rules;
  readonly overrides: Overrides;
  /** `auto`: approved by policy, a plan's phases too; absent: as `emend.yaml` says. */
  readonly approval?: 'ask' | 'auto';
  /** Run hints given on the command line; they go into the prompts. */
  readonly hints: readonly string[];
  /** Commit of the target branch of a pull request, which configuration is read from; absent: it is read from the workspace. */
  readonly configurationCommit?: string;
  /** Are the search attributes registered? Without them runs go without. */
  readonly searchAttributes: boolean;
  /** Address of the review page that was served when the run began; absent: none that others can open. */
  readonly page?: string;
  /** Of a run that continues another one (continue-as-new). */
  readonly carried?: Carried;
}
/** An ended run whose pull request was reviewed, and what is taken up of the review. */
export interface Follows extends Readonly<
  Record<'commit' | 'pullRequest' | 'remote' | 'branch', string>
> {
  readonly run: StepKey;
  /** A line for each comment: place, author, first words. */
  readonly notes: readonly string[];
}
/** What an edit step goes by. */
export interface StepSetup extends RunSetup {
  /** Null: preflight reads the file `jobPath`. */
  readonly job: BlobRef | null;
  /** Absent: it begins with a person's job. */
  readonly follows?: Follows;
  /** Name of the job in lists: a path, relative to the workspace if it is inside. */
  readonly jobPath: string;
  /** An accepted result of all its files, made by whoever has the change already; absent: the model is asked for one. */
  readonly given?: BlobRef;
  /** Where the job names no file a model picks, and a person is asked before any is edited. */
  readonly pick?: true;
  /** `return`: a failed verification ends the step once it is rolled back (`tests_failed`), and whoever started it says what comes next. */
  readonly testsFailed?: 'return';
  /** Of a phase: marks of those before it, which its commit takes along. */
  readonly marks?: readonly BlobRef[];
  /** Of a phase: earlier ones have committed what a model wrote, and a person was asked about the sandbox before the first. */
  readonly modelBase?: true;
  /** Of a phase: a person's consent for an earlier one, for the rest of the plan. */
  readonly withoutSandbox?: true;
}
/** What a step still has to count: nothing, its usage now, or at its end; and whether it was counted before. */
export interface UsageOwed {
  readonly owed: 'no' | 'now' | 'at_the_end';
  readonly counted: boolean;
}

/** `tests_failed`: of a plan's phases. A plan ends as `PlanOutcome` says; of those a step has `aborted`, `refused` and `failed`. */
export type StepOutcome =
  | 'committed'
  | 'applied'
  | 'unchanged'
  | 'skipped'
  | 'tests_failed'
  | PlanOutcome;
/** How a run ended. */
export interface StepResult extends ToleranceList {
  readonly v: Version;
  readonly stepKey: StepKey;
  readonly outcome: StepOutcome;
  readonly files: readonly string[];
  /** Paths that were skipped. */
  readonly skipped: readonly string[];
  /** What was rolled back last left these files as they are, as somebody had changed them, the first of them; absent: none. */
  readonly notRestored?: readonly string[];
  /** Files that the model says it need not change, and why, the first of them; absent: none. */
  readonly unchanged?: readonly { readonly path: string; readonly reason: string }[];
  readonly wasSplit: boolean;
  readonly usage: StepUsage;
  readonly commit: string | null;
  /** What a person should know of the commit; absent: nothing. */
  readonly note?: string;
  readonly proposalId: string | null;
  readonly verification: string | null;
  /** Warnings of the last run of the tests, the first of them; absent: none. */
  readonly testWarnings?: readonly string[];
  /** Files that tests wrote into the workspace, as `sandbox.write` allows it, the first of them. No commit has them. Absent: none. */
  readonly written?: readonly string[];
  /** What a model said of the change; absent: it was not audited. */
  readonly audit?: AuditReport;
  readonly problem: Problem | null;
  /** Of a plan: its phases. */
  readonly plan?: PlanProgress;
  /** Time that it waited for people. */
  readonly pausedFor_ms: number;
  /** Its commit holds the marks that its input named. */
  readonly marks?: true;
  /** With `tests_failed`. */
  readonly failure?: Failure;
  /** A person's consent, for the rest of its plan: its commands run without a sandbox. */
  readonly withoutSandbox?: true;
  /** Its host took no work: what is (or may be) applied there is put back by `emend recover` on that host. Absent: nothing is open. */
  readonly openOnHost?: OpenOnHost;
  /** Where it was before it was moved, oldest first; what it had applied there is put back there. Absent: it was not moved. */
  readonly left?: readonly OpenOnHost[];
}
/** What a person should know of a result beside its outcome, a line each. */
export const resultNotes = (result: StepResult): readonly string[] => [
  ...restoreNotes(result),
  ...otherNotes(result),
];
/** Files that a rollback left as they are. */
export const restoreNotes = ({ notRestored = [] }: StepResult): readonly string[] =>
  notRestored.map((path) => `not restored, as it changed in the meantime: ${path}`);
export const otherNotes = ({
  note,
  unchanged = [],
  testWarnings = [],
  written = [],
  ...result
}: StepResult): readonly string[] => [
  ...toleranceSentences(result),
  ...testWarnings.map((warning) => `warning of the tests: ${warning}`),
  ...(note === undefined ? [] : [`note: ${note}`]),
  ...unchanged.map(({ path, reason }) => `unchanged: ${path}: ${reason}`),
  ...written.map((path) => `written by the tests, as \`sandbox.write\` allows it: ${path}`),
];
export interface OpenOnHost {
  /** The id of the host's home. */
  readonly host: string;
  readonly workspace: string;
  readonly files: readonly string[];
}

export type FileStatus = 'pending' | 'in_progress' | 'done' | 'failed' | 'skipped';

/** How many there are of each. */
export const countsOf = (
  all: readonly { readonly status: FileStatus }[],
): Record<FileStatus, number> => {
  const counts = { pending: 0, in_progress: 0, done: 0, failed: 0, skipped: 0 };
  for (const { status } of all) counts[status] += 1;
  return counts;
};

export interface LedgerRow extends Omit<Target, 'bytes'> {
  readonly status: FileStatus;
  /** Answers of the model about it so far, at every fallback; an answer about all files is one about each. */
  readonly attempts: number;
  /** Refused answers that `maxAttemptsPerFile` still allows at this fallback; absent: nothing more is asked for. */
  readonly attemptsLeft?: number;
  /** Answers that `maxCallsPerFile` still allows before a decision is needed; absent as above. */
  readonly callsLeft?: number;
  /** Why it failed, was skipped or stays unchanged; null otherwise. */
  readonly reason: string | null;
  /** Why it was picked; absent: the job names it. */
  readonly why?: string;
  readonly verdict: 'approve' | 'skip' | null;
}
export type RunState = 'running' | 'waiting' | 'done' | 'failed' | 'aborted';
/** Returns how a run that ended is shown. The outcome may be one of a newer Emend. */
export const stateOfOutcome = (outcome: string): RunState => {
  if (outcome === 'aborted') return 'aborted';
  return outcome === 'failed' || outcome === 'refused' ? 'failed' : 'done';
};
/** What a list of runs shows; `unknown`: open, but no worker answers, or no server does. */
export const LISTED_STATES = [
  'waiting',
  'running',
  'done',
  'failed',
  'aborted',
  'unknown',
] as const;

/**
 * Which runs a list shows. `workspace`: an absolute path, or the address of a repository; `plan`: its document or the first digits of a run of
 * it; `text`: words, each of which is a part of a run's texts, in any case; empty: all.
 */
export type RunFilter = Readonly<
  Partial<Record<'state' | 'workspace' | 'plan' | 'text', string | undefined>>
>;

/** Where a run stands. */
export interface StepStatus extends Pick<
  StepResult,
  'v' | 'stepKey' | 'proposalId' | 'usage' | 'wasSplit' | 'plan'
> {
  readonly workspace: string;
  readonly jobPath: string;
  readonly title: string;
  readonly state: RunState;
  /** What it is doing, in words: `file 2/5: src/a.ts`, `waiting for approval`… */
  readonly doing: string;
  readonly stage: string;
  readonly counts: Readonly<Record<FileStatus, number>>;
  readonly decision: DecisionPoint | null;
  /** The model is down, and the run waits by itself; absent: it does not. */
  readonly outage?: Outage;
  /** Said before the first call; of a plan: of the phases still to be done. Absent: not known. */
  readonly estimate?: StepEstimate;
  /** Money that it may use; null: there is no money budget, as no price is known. Absent: not known yet. */
  readonly budget?: MoneyBudget | null;
  /** Edit calls that `maxTotalChunks` still allows; absent: not known, or none comes. */
  readonly chunksLeft?: number;
  /** Decisions and signals that did not count. */
  readonly ignored: readonly string[];
  /** All of them; absent: `ignored` has them all. */
  readonly ignoredCount?: number;
  readonly lastSeq: number;
  readonly left?: readonly OpenOnHost[];
  readonly result: StepResult | null;
}
/** By which people know it, wherever it is listed. */
export type RunWords = Pick<StepStatus, 'stepKey' | 'title' | 'jobPath' | 'workspace' | 'doing'>;
/** What else the query `status` tells when asked for all of it: a query for each would answer of another moment. */
export interface StatusQuery {
  readonly full?: boolean;
}
export interface FullStatus extends StepStatus {
  readonly ledger?: readonly LedgerRow[];
  readonly proposal?: ProposalSummary | null;
}
export interface EventsQuery {
  readonly after?: number;
  readonly limit?: number;
}

/** The place from which an activity reads configuration. */
export const configurationOf = ({
  configurationCommit,
}: Pick<RunSetup, 'configurationCommit'>): Pick<RunSetup, 'configurationCommit'> =>
  configurationCommit === undefined ? {} : { configurationCommit };
