/** The state of one edit step: the ledger, and all that its stages need to choose the next effect. Plain data. */
import type { AuditReport } from '../../shared/audit.js';
import type { PauseReason } from '../../shared/decisions.js';
import type { BlobRef } from '../../shared/ids.js';
import type { Limits } from '../../shared/limits.js';
import type { MadeFiles, PickedFile } from '../../shared/pick.js';
import type { Failure } from '../../shared/failure.js';
import type { Problem } from '../../shared/problems.js';
import type {
  Application,
  HeldLock,
  NoSandbox,
  ProposalSummary,
  SandboxChoice,
  SelectedFiles,
} from '../../shared/proposal-activities.js';
import type { FileStatus, StepOutcome, StepSetup } from '../../shared/run.js';
import type {
  LinesAsked,
  PreflightResult,
  ProposeInput,
  RegionPart,
  Target,
} from '../../shared/step-activities.js';
import type { RunTestsResult, TestRun } from '../../shared/test-activities.js';
import type { MoneyBudget, StepEstimate } from '../../shared/usage.js';
import { begin, type Closed, type RunState } from '../frame/machine.js';

type Paths = readonly string[];

/** Another run has locked the workspace. */
export interface Busy {
  readonly tries: number;
  /** What you can do about the lock. Null: it is that of a run, and the step waits for it. */
  readonly advice: string | null;
  /** Before the next try. */
  readonly waiting: boolean;
}

/** What follows a rollback. */
export type AfterRollback =
  /** `apply`: the change is applied again, on the branch of its repository as it is then. */
  | { readonly do: 'ask' | 'new_base' | 'apply' }
  /** `note`: that of the answer that asks for another edit. Absent: no answer asked for it. */
  | { readonly do: 'regenerate'; readonly note?: string | null }
  | { readonly do: 'finish'; readonly outcome: StepOutcome; readonly problem: Problem | null };

/** The place of the step, and what only that place needs. */
export type Stage =
  /** `only`: targets that are read again. Null: all. */
  | { readonly at: 'preflight'; readonly only: Paths | null }
  | { readonly at: 'pick'; readonly snapshot: BlobRef }
  /** `part`: the proposal of the finished files is built, and others failed. Without a proposal nothing of the finished files changes. */
  | { readonly at: 'propose'; readonly part?: true }
  | { readonly at: 'build' | 'review' | 'audit' | 'release' | 'commit' }
  | { readonly at: 'apply'; readonly busy: Busy | null }
  /** `files`: those that are rebased onto the current files. Null: all. */
  | { readonly at: 'rebase'; readonly files: Paths | null }
  | { readonly at: 'verify' }
  | { readonly at: 'roll_back'; readonly then: AfterRollback }
  | Closed<StepOutcome>;

/** An edit that fits, and whose findings the model was asked about. */
export interface Kept {
  /** Null: it is one of the accepted results already. */
  readonly accepted: BlobRef | null;
  /** Heads of the accepted results that it follows. */
  readonly heads: readonly BlobRef[];
  /** `Repair.result`. */
  readonly result: string;
  /** Why the response changes nothing. Absent: it changes something. */
  readonly reason?: string | undefined;
  readonly made?: MadeFiles | undefined;
}

/** The progress of a call: that for one file, or that for all files. */
export interface CallProgress extends Pick<
  ProposeInput,
  'format' | 'outputBudget_tokens' | 'model' | 'note' | 'refusal'
> {
  readonly status: FileStatus;
  /** Number of invalid and refused responses, and of findings that the model was asked about, at this fallback. */
  readonly attempts: number;
  /** Number of responses since an answer last ordered the call, without finished regions. It counts against `maxCallsPerFile`. */
  readonly answers: number;
  /** The last edit that fits. It is proposed with its findings if no better one comes. Null: there is none. */
  readonly kept: Kept | null;
  /** A part of the call key. It grows only when a new response is needed. */
  readonly regeneration: number;
  /** The call was made once more after a response without a completeness marker. */
  readonly unmarkedAsked: boolean;
  readonly failure: { readonly reason: PauseReason; readonly message: string } | null;
  /** Why the model changed nothing, in its words. Null or absent: it changed something, or gave no reason. */
  readonly unchanged?: string | null;
  /** The next region of a file that is edited in regions. */
  readonly region: RegionPart | null;
  /** The lines that the model asked for. */
  readonly linesAsked: LinesAsked | null;
}

export interface Verdict {
  readonly answer: 'approve' | 'skip';
  readonly decision: number;
  /** `ProposalFileSummary.key` at that time. The verdict counts while the key is the same. */
  readonly key: string;
  /** Nobody saw the change: `approval: auto` or a review policy approved it. */
  readonly isAutomatic?: true;
}

interface Selected extends Pick<SelectedFiles, 'proposal' | 'diff'> {
  /** Null: all changes of the proposal. */
  readonly changes: readonly number[] | null;
}

export interface FileEntry
  extends CallProgress, Pick<Target, 'path' | 'isNew' | 'bucket' | 'lines'> {
  /** The job deletes the file. */
  readonly deletes: boolean;
  /** The file whose response made this one. Both are asked for in one call. Absent: it has calls of its own. */
  readonly madeBy?: string;
  /** Number of responses about it, for display. Absent: none. */
  readonly answered?: number;
  /** It was finished on this base, and the model is asked for it again. */
  readonly again?: true;
  /** Changed by hand after `manual`. */
  readonly manual: boolean;
  /** Changed by a commit hook: taken from the disk as `manual` is, but reviewed like an edit of the model. */
  readonly unreviewed: boolean;
  readonly verdict: Verdict | null;
  /** The changes that the reviewer selected. The next proposals take the file from them, until the model is asked for it again. */
  readonly selected: Selected | null;
}

export type ReadyPreflight = Extract<PreflightResult, { outcome: 'ready' }>;

/** What the edits start from. */
interface Base {
  readonly number: number;
  readonly pickRegeneration: number;
  readonly picked: Paths | null;
  /** They, and why; absent: nothing was picked. */
  readonly picks?: readonly PickedFile[];
  /** New files that a model named; absent: none. */
  readonly made?: Paths;
  /** What is looked for beside the task's words; absent: nothing was asked for. */
  readonly lookFor?: Paths;
  readonly ready: ReadyPreflight | null;
  /** SHA-256 of configuration that the open question is about; absent: none is open. */
  readonly untrusted?: readonly string[];
  /** SHA-256 of configuration that was accepted in this run; absent: none was. */
  readonly trusts?: readonly string[];
  /** The expected usage of the whole run, with its usage before the files were known. Absent: nothing was read yet. */
  readonly estimate?: StepEstimate;
  /** Money that the run may use, as it was shown with the estimate. Null: no price is known; absent: nothing was read yet. */
  readonly budget?: MoneyBudget | null;
  readonly limits: Limits | null;
  /** Limits that people set before preflight had resolved any (while files were picked). */
  readonly early: Partial<Limits>;
}

interface Edits {
  readonly files: readonly FileEntry[];
  /** The one call for all files; null: one call a file. */
  readonly combined: CallProgress | null;
  readonly split: boolean;
  readonly briefWanted: boolean;
  readonly brief: BlobRef | null;
  /** Chunks begun: their number is the `seq` of the newest. */
  readonly chunks: number;
  /** Chunks whose call did not reach a model that answers: they use up no `maxTotalChunks`. */
  readonly unanswered: number;
  /** Calls that were paid for, those that were cut off too; as far as activities told. */
  readonly calls: number;
  readonly accepted: readonly BlobRef[];
  /** The model has given an answer for a file that could be used, on whatever base. */
  readonly hasSuccess: boolean;
}

interface Applied {
  readonly all: readonly Application[];
  /** An application whose activity failed without saying whether it wrote: an end of the step rolls it back too. */
  readonly uncertain: Application | null;
  readonly lock: HeldLock | null;
  /** Decision number that the next application is recorded under. */
  readonly decision: number;
  /** Decision number of a `rebase` onto the current HEAD; null: HEAD must be where it was. */
  readonly onto: number | null;
  readonly incomplete: boolean;
  /** What a commit hook staged, for the proposal that follows its `rebase`; null: nothing. */
  readonly staged: BlobRef | null;
}

type BaseResult = Extract<RunTestsResult, { readonly on: 'base' } | NoSandbox>;

/** A run of the tests on a proposal that is not applied. */
interface ProposedTests {
  /** `ProposalSummary.id`. */
  readonly proposal: string;
  /** The files of the proposal that were tested. */
  readonly files: readonly string[];
  /** The tests ran right before the apply, without outputs of earlier commands. */
  readonly isFresh: boolean;
  readonly result: TestRun;
}

interface Tests {
  readonly commands: readonly string[];
  /** A found command that a person approved in this run. */
  readonly remember: readonly string[] | null;
  readonly last: string | null;
  /** Of the last run of the tests; absent: none. */
  readonly warnings?: readonly string[];
  /** Files that tests wrote into the workspace, as `sandbox.write` allows it; absent: none. */
  readonly written?: readonly string[];
  /** Failed verifications in a row; signature and output of the last one. */
  readonly failures: number;
  /** Test runs that came to an end; absent: none. */
  readonly runs?: number;
  readonly signature: string | null;
  readonly output: BlobRef | null;
  /** Ids of the proposals with which the tests failed. */
  readonly failedProposals: readonly string[];
  /** What the step ends with where its starter wants to hear of it. */
  readonly failure: Failure | null;
  /** What they showed on the base of this number; absent: not known. */
  readonly base?: BaseResult & { readonly number: number };
  /** What they showed on a proposal before it was applied; null: nothing. */
  readonly proposed: ProposedTests | null;
  /** How often in a row somebody changed the base between tests that passed and the apply. */
  readonly baseMoves: number;
  /** How often in a row another run in the workspace did. */
  readonly movesByRuns: number;
  /** Number of the newest lock of another run at the last such change; null: none is known. */
  readonly otherLock: number | null;
  /** The next run of the tests gets twice the time. */
  readonly longer: boolean;
  /** Why the tests run after the apply although preflight found an overlay; null: they do not. */
  readonly afterApply: string | null;
  /** The host keeps outputs for the next commands of the run. */
  readonly keepsOutputs: boolean;
  /** What a person said of a base that fails; absent: nothing, it is as configured. */
  readonly answered?: 'fix' | 'known';
  /** A person allowed the next run of the tests of the base outside the sandbox. */
  readonly outside?: boolean;
}

export interface StepState extends RunState<StepSetup> {
  readonly stage: Stage;
  readonly base: Base;
  readonly edits: Edits;
  readonly proposal: ProposalSummary | null;
  readonly applied: Applied;
  readonly tests: Tests;
  /** `report`: the last one. Absent: nothing was audited. */
  readonly audit?: { readonly regeneration: number; readonly report?: AuditReport };
  /** Questions that are asked once. */
  readonly answered: {
    readonly estimate: boolean;
    readonly tests: boolean;
    /** Causes of `runaway`. */
    readonly sameFailure: boolean;
    readonly overEstimate: boolean;
  };
  /** The usage was counted from the journal: results are in it and add nothing, as a count follows each. */
  readonly usageFromJournal: boolean;
  /** What people said of the sandbox of the step's commands; absent: nothing. */
  readonly sandbox?: Pick<SandboxChoice, 'reread'> & { readonly without?: 'once' | 'run' };
  /** What a person said of secrets in requests; absent: nothing. */
  readonly secrets?: 'mask' | 'send';
  readonly commit: string | null;
  /** It took the marks along. */
  readonly marks?: true;
}

/** Of tests whose base did not change again. */
export const NO_BASE_MOVES = { baseMoves: 0, movesByRuns: 0 } as const;

export const initialState = (input: StepSetup, currentTime_ms: number): StepState => ({
  ...begin(input, currentTime_ms),
  stage: { at: 'preflight', only: null },
  base: { number: 1, pickRegeneration: 1, picked: null, ready: null, limits: null, early: {} },
  edits: {
    files: [],
    combined: null,
    split: false,
    briefWanted: false,
    brief: null,
    chunks: 0,
    unanswered: 0,
    calls: 0,
    accepted: [],
    hasSuccess: false,
  },
  proposal: null,
  applied: {
    all: [],
    uncertain: null,
    lock: null,
    decision: 0,
    onto: null,
    incomplete: false,
    staged: null,
  },
  tests: {
    commands: [],
    remember: null,
    last: null,
    failures: 0,
    signature: null,
    output: null,
    failedProposals: [],
    failure: null,
    proposed: null,
    ...NO_BASE_MOVES,
    otherLock: null,
    longer: false,
    afterApply: null,
    keepsOutputs: false,
  },
  answered: {
    estimate: false,
    tests: false,
    sameFailure: false,
    overEstimate: false,
  },
  usageFromJournal: false,
  ...(input.withoutSandbox === true ? { sandbox: { without: 'run' } } : {}),
  commit: null,
});
