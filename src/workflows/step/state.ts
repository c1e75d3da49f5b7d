/** The state of one edit step: the ledger and all that the protocol needs to choose its next move. Plain data. */
import { NO_DECISIONS, type DecisionState } from '../frame/decision-state.js';
import type { PauseReason } from '../../shared/decisions.js';
import { NO_EVENTS, type EventLog } from '../../shared/events.js';
import type { Bucket, Format } from '../../shared/formats.js';
import type { LimitName, Limits } from '../../shared/limits.js';
import type { Problem } from '../../shared/problems.js';
import type {
  Application,
  HeldLock,
  ProposalFileSummary,
  ProposalSummary,
  VerificationFailure,
} from '../../shared/proposal-activities.js';
import type { EditStepInput, FileStatus, OpenOnHost, StepOutcome } from '../../shared/run.js';
import type { LinesAsked, PreflightResult, RegionPart } from '../../shared/step-activities.js';
import type { BlobRef } from '../../shared/ids.js';
import { NO_USAGE, type StepUsage } from '../../shared/usage.js';

export type Stage =
  | 'preflight'
  | 'pick'
  | 'propose'
  | 'seal'
  | 'review'
  | 'apply'
  | 'rebase'
  | 'verify'
  | 'rollback'
  | 'commit'
  | 'closed';

/** What a chunk still has to go through; the whole step's call has one too. */
export interface CallProgress {
  readonly status: FileStatus;
  /** Invalid and refused answers at this rung of the ladder. */
  readonly attempts: number;
  /** Up only when a new answer is wanted; part of the slot key. */
  readonly draw: number;
  readonly format: Format;
  readonly outputBudget_tokens: number;
  readonly model: string | null;
  readonly note: string | null;
  readonly refusal: BlobRef | null;
  /** An unmarked answer is asked for once more. */
  readonly unmarkedAsked: boolean;
  readonly failure: { readonly reason: PauseReason; readonly message: string } | null;
  /** Set once a file is edited in regions. */
  readonly region?: RegionPart;
  /** Set once the model has asked for more lines. */
  readonly linesAsked?: LinesAsked;
}
export interface Verdict {
  readonly answer: 'approve' | 'skip';
  readonly decision: number;
  /** ProposalFileSummary.key at the time: the verdict stands while it is the same. */
  readonly key: string;
}
export interface Selected {
  readonly proposal: BlobRef;
  readonly diff: BlobRef;
  /** Null: the file as the proposal has it. */
  readonly changes: readonly number[] | null;
}
export interface FileEntry extends CallProgress {
  readonly path: string;
  readonly isNew: boolean;
  /** The job says that it goes; absent: it is edited. */
  readonly deletes?: true;
  readonly bucket: Bucket;
  readonly lines: number;
  /** Changed by hand after `manual`. */
  readonly manual: boolean;
  /** Changed by a commit hook: taken from the disk as `manual` is, but reviewed like an edit of the model. */
  readonly unreviewed?: boolean;
  readonly verdict: Verdict | null;
  /** A person chose among the changes of this proposal: the next seals take the file from it. Gone when the file is asked for again. */
  readonly pinned?: Selected | undefined;
}

export type ReadyPreflight = Extract<PreflightResult, { outcome: 'ready' }>;

export interface StepState extends DecisionState, EventLog {
  readonly v: 1;
  readonly input: EditStepInput;
  readonly stage: Stage;
  readonly startedAt: number;
  readonly outcome: StepOutcome | null;
  readonly problem: Problem | null;
  readonly abortedBy: string | null;

  // preflight
  readonly snapshotNumber: number;
  /** Targets whose base is taken anew at the next preflight; null: all. */
  readonly snapshotOnly: readonly string[] | null;
  readonly pickSnapshot: BlobRef | null;
  readonly pickDraw: number;
  readonly picked: readonly string[] | null;
  readonly preflight: ReadyPreflight | null;
  readonly limits: Limits | null;
  /** Limits that people set before preflight had resolved any (while files were picked). */
  readonly earlyLimits?: Partial<Limits>;
  readonly estimateAnswered: boolean;
  readonly testAnswered: boolean;
  readonly testCommands: readonly string[];
  /** A found command that a person approved in this run. */
  readonly rememberTest: string | null;

  // propose
  readonly files: readonly FileEntry[];
  readonly whole: CallProgress | null;
  readonly wasSplit: boolean;
  readonly briefWanted: boolean;
  readonly brief: BlobRef | null;
  /** Chunks begun: their number is the `seq` of the newest. */
  readonly chunksUsed: number;
  /** Chunks whose call did not reach a model that answers: they use up no `maxTotalChunks`. */
  readonly unanswered?: number;
  /** Edit calls that were paid for, those that were cut off too; as far as activities told. */
  readonly editCalls?: number;
  readonly accepted: readonly BlobRef[];
  readonly usage: StepUsage;
  /** The usage was counted from the journal: results are in it and add nothing, as a tally follows each. */
  readonly tallied?: boolean;

  // review and apply
  readonly proposal: ProposalSummary | null;
  /** Decision number that the next application is recorded under. */
  readonly approvalNumber: number;
  readonly applications: readonly Application[];
  /** An application whose activity failed without saying whether it wrote: an end of the step rolls it back too. */
  readonly applying: Application | null;
  /** Where the last conflict was; its answers mean different things there. */
  readonly conflictAt: 'apply' | 'commit' | 'rebase' | null;
  readonly lease: HeldLock | null;
  readonly busySince: number | null;
  readonly busyTries: number;
  /** What a person can do about the holder; null: it is a run like others, and is waited for. */
  readonly busyAdvice: string | null;
  readonly incomplete: boolean;
  readonly rebaseFiles: readonly string[] | null;
  readonly ontoCurrent: number | null;

  // verify
  readonly verification: string | null;
  readonly transientRetried: boolean;
  readonly failedVerifications: number;
  readonly lastSignature: string | null;
  readonly failureOutput: BlobRef | null;
  /** Ids of the proposals with which the tests failed; absent: none. */
  readonly failedProposals?: readonly string[];
  /** What the step ends with where its starter wants to hear of it. */
  readonly failure?: VerificationFailure;
  /** What follows the rollback. */
  readonly afterRollback: 'ask' | 'regenerate' | 'finish' | 'new_base' | null;
  readonly commit: string | null;
  /** Aborted without its host; absent: nothing is open there. */
  readonly openOnHost?: OpenOnHost;
  /** What a commit hook staged, for the seal that follows its `rebase`; absent: nothing. */
  readonly staged?: BlobRef;
}

export const initialState = (input: EditStepInput, now: number): StepState => ({
  v: 1,
  input,
  stage: 'preflight',
  startedAt: now,
  outcome: null,
  problem: null,
  abortedBy: null,
  snapshotNumber: 1,
  snapshotOnly: null,
  pickSnapshot: null,
  pickDraw: 1,
  picked: null,
  preflight: null,
  limits: null,
  estimateAnswered: false,
  testAnswered: false,
  testCommands: [],
  rememberTest: null,
  files: [],
  whole: null,
  wasSplit: false,
  briefWanted: false,
  brief: null,
  chunksUsed: 0,
  accepted: [],
  usage: NO_USAGE,
  proposal: null,
  approvalNumber: 0,
  applications: [],
  applying: null,
  conflictAt: null,
  lease: null,
  busySince: null,
  busyTries: 0,
  busyAdvice: null,
  incomplete: false,
  rebaseFiles: null,
  ontoCurrent: null,
  verification: null,
  transientRetried: false,
  failedVerifications: 0,
  lastSignature: null,
  failureOutput: null,
  afterRollback: null,
  commit: null,
  ...NO_DECISIONS,
  ...NO_EVENTS,
});

/** Limits that people changed by their answers: the snapshot of the preflight does not know them. */
export const changedLimits = ({ limits, preflight, earlyLimits }: StepState): Partial<Limits> | null => {
  const resolved = preflight?.limits;
  if (limits === null || resolved === undefined) return earlyLimits ?? null;
  const changed = (Object.keys(limits) as LimitName[]).filter((name) => limits[name] !== resolved[name]);
  return changed.length === 0 ? null : Object.fromEntries(changed.map((name) => [name, limits[name]]));
};

export const isUnfinished = ({ status }: { readonly status: FileStatus }): boolean =>
  status === 'pending' || status === 'in_progress';
/** Paths that still want an answer from the model. */
export const unfinishedPaths = (state: StepState): readonly string[] =>
  state.files.filter(isUnfinished).map((file) => file.path);

/** The person who changed a file by hand has reviewed it by that. */
const isPersons = (file: ProposalFileSummary, entries: ReadonlyMap<string, FileEntry>): boolean =>
  file.by === 'person' && entries.get(file.path)?.unreviewed !== true;

/** Files that the current proposal would change by the model and that still stand for application. */
export const approvedPaths = (state: StepState): readonly string[] => {
  const proposal = state.proposal;
  if (proposal === null) return [];
  const entries = new Map(state.files.map((file) => [file.path, file]));
  return proposal.files
    .filter((file) => isPersons(file, entries) || entries.get(file.path)?.verdict?.answer === 'approve')
    .map((file) => file.path);
};

/** Proposal files that no verdict covers yet. */
export const undecidedPaths = (state: StepState): readonly string[] => {
  const entries = new Map(state.files.map((file) => [file.path, file]));
  return (state.proposal?.files ?? [])
    .filter((file) => {
      if (isPersons(file, entries)) return false;
      const verdict = entries.get(file.path)?.verdict ?? null;
      return verdict?.key !== file.key;
    })
    .map((file) => file.path);
};
