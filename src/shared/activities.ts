/**
 * ◆ The one table of activities: where each runs, what bounds its calls, what its failure is asked as, and why. Calls, registration,
 * heartbeats, sentences about failures, counts of usage and the table in docs/operations.md are made from it.
 * Bounds are names of numbers in what the run goes by, so a changed default changes no open run. A changed `fails`, `unreached`, `work` or
 * `reportsUsage` changes what a run does next: docs/versions.md says when that is allowed.
 */
import type { BeginActivities } from './begin-run.js';
import type { PauseReason } from './decisions.js';
import type { BlobRef } from './ids.js';
import type { TimingName } from './limits.js';
import type { PlanActivities } from './plan-activities.js';
import type { PlanCallActivities, RevisingActivities } from './replan-activities.js';
import type { HostActivities } from './host-activities.js';
import type { ActivityBase } from './proposal-activities.js';
import type { StepActivities } from './step-activities.js';
import type { Rules } from './rules.js';

/** May a run go on in another place, or why not? Null: no file was read, nothing is proposed (its bases count before the snapshot's), no base commit is known. */
export interface MoveInput
  extends ActivityBase, Readonly<Record<'snapshot' | 'proposal', BlobRef | null>> {
  /** A real path, or the URL of a repository. */
  readonly workspace: string;
  readonly commit: string | null;
  /** The job's file, as the run was started with it, if the run has not read it yet. */
  readonly unreadJob: string | null;
}
type Moves = { checkMove(input: MoveInput): Promise<{ readonly why: string | null }> };
type Activities = BeginActivities &
  StepActivities &
  PlanActivities &
  RevisingActivities &
  PlanCallActivities &
  HostActivities &
  Moves;
export type ActivityName = keyof Activities;
export type InputOf<N extends ActivityName> = Parameters<Activities[N]>[0];
export type ResultOf<N extends ActivityName> = Awaited<ReturnType<Activities[N]>>;

/** The name of a number in what the run goes by. */
export type Amount = TimingName | keyof Rules['bounds'];
export interface ActivitySpec {
  /**
   * `host` runs where the workspace is, `command` also, in one of the slots for commands of the project. `model` runs on any worker that may
   * call models, `workflow` on any worker that runs workflows. Each role has its queue.
   */
  readonly role: 'host' | 'command' | 'model' | 'workflow';
  /** In some runs it runs commands of the project. The run knows, and calls it in the role `command` then. */
  readonly mayRunCommands?: true;
  readonly timeouts: { readonly heartbeatTimeout: TimingName } & Readonly<
    Partial<
      Record<'scheduleToStartTimeout' | 'startToCloseTimeout' | 'scheduleToCloseTimeout', Amount>
    >
  >;
  /** It heartbeats at least this often. */
  readonly heartbeat?: TimingName;
  readonly retry: Readonly<
    Record<'initialInterval' | 'maximumInterval' | 'maximumAttempts', Amount>
  >;
  readonly cancellationType?: 'WAIT_CANCELLATION_COMPLETED' | 'TRY_CANCEL';
  /**
   * How often each command runs in it, by the name of its limit. Start to close is longer by these: it only catches what they do not end.
   * `timeout_s` is the input's; `files`: as often as the step has files.
   */
  readonly more_s?: Partial<Record<keyof Rules['bounds'] | 'timeout_s', number | 'files'>>;
  readonly fails: PauseReason;
  /** No worker took it in time. */
  readonly unreached: PauseReason;
  /** Its result tells what it used; where there is none, the journal is asked (decision 0006). */
  readonly reportsUsage?: true;
  /** Begins a sentence about its failure. */
  readonly work: string;
  readonly why: string;
}
interface Fitting<N extends ActivityName> {
  readonly more_s?: InputOf<N> extends { readonly timeout_s: number }
    ? object
    : { readonly timeout_s?: never };
  readonly reportsUsage?: ResultOf<N> extends { readonly usage: unknown } ? true : never;
}

const retry = { initialInterval: 'retryInitial_ms', maximumInterval: 'retryMaximum_ms' } as const;
const host = {
  role: 'host',
  timeouts: {
    // A host that takes no work is unreachable: a person is asked instead of waiting for ever.
    scheduleToStartTimeout: 'scheduleToStart_ms',
    startToCloseTimeout: 'hostActivityTimeout_ms',
    heartbeatTimeout: 'hostHeartbeatTimeout_ms',
  },
  retry: { ...retry, maximumAttempts: 'hostActivityAttempts' },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  fails: 'engine_failed',
  unreached: 'workspace_unreachable',
} as const;
/** Commands of the project, which may wait for a slot as long as their host lives (src/workflows/frame/host-watch.ts). */
export const COMMAND_TIMEOUTS = {
  startToCloseTimeout: 'hostActivityTimeout_ms',
  heartbeatTimeout: 'commandHeartbeatTimeout_ms',
} as const;
const commits = {
  ...host,
  mayRunCommands: true,
  more_s: { hook_s: 2 },
  why: 'two hooks; a retry finds the commit',
} as const;
const anyWorker = {
  role: 'model',
  heartbeat: 'heartbeat_ms',
  unreached: 'model_unavailable',
} as const;
const model = {
  ...anyWorker,
  timeouts: {
    // Model calls may queue behind a rate limit for long: no schedule to start.
    startToCloseTimeout: 'modelCallTimeout_ms',
    scheduleToCloseTimeout: 'modelCallTotal_ms',
    heartbeatTimeout: 'heartbeatTimeout_ms',
  },
  retry: { ...retry, maximumAttempts: 'modelCallAttempts' },
  cancellationType: 'TRY_CANCEL',
  fails: 'model_unavailable',
  reportsUsage: true,
  why: 'a call may queue behind a rate limit; the journal keeps a retry from paying twice',
} as const;

export const ACTIVITIES = {
  beginRun: {
    role: 'workflow',
    timeouts: { heartbeatTimeout: 'hostHeartbeatTimeout_ms' },
    retry: { ...retry, maximumAttempts: 'hostActivityAttempts' },
    fails: 'engine_failed',
    unreached: 'workspace_unreachable',
    work: 'reading the input of the run',
    why: 'the run has no settings yet: its time-out and retries are constants (src/shared/begin-run.ts)',
  },
  checkHost: {
    role: 'workflow',
    timeouts: {
      startToCloseTimeout: 'hostActivityTimeout_ms',
      heartbeatTimeout: 'hostHeartbeatTimeout_ms',
    },
    retry: { ...retry, maximumAttempts: 'hostActivityAttempts' },
    fails: 'engine_failed',
    unreached: 'workspace_unreachable',
    work: 'looking for a worker of the host',
    why: 'it only reads; its failure counts as a worker that was found',
  },
  prepareCheckout: {
    ...host,
    work: 'making a checkout',
    why: 'a retry finds the checkout, or makes it on another host',
  },
  preflight: { ...host, work: 'reading the job and its files', why: 'its result is recorded once' },
  pickFiles: { ...model, work: 'the model call that picks the files' },
  writeBrief: { ...model, work: 'the model call that agrees on names and parts' },
  proposeEdit: { ...model, work: 'the model call for an edit' },
  countUsage: {
    ...anyWorker,
    timeouts: { scheduleToCloseTimeout: 'countTotal_ms', heartbeatTimeout: 'heartbeatTimeout_ms' },
    retry: { ...retry, maximumAttempts: 'countAttempts' },
    fails: 'engine_failed',
    work: 'counting usage',
    why: 'bookkeeping, after a model call that ended without a result; a step continues without it',
  },
  buildProposal: {
    ...host,
    mayRunCommands: true,
    more_s: { format_s: 'files' },
    work: 'checking and building the proposal',
    why: 'runs `formatCommand` on each file',
  },
  applyProposal: {
    ...host,
    work: 'writing the files',
    why: 'one transaction; a retry finds its record',
  },
  rebaseProposal: {
    ...host,
    work: 'rebasing the proposal onto the current files',
    why: 'its first result is recorded',
  },
  runTests: {
    ...host,
    role: 'command',
    timeouts: COMMAND_TIMEOUTS,
    more_s: { timeout_s: 3 },
    work: 'running the tests',
    why: 'runs within `testTimeout_s`; a base that fails in a sandbox may run once more without',
  },
  releaseWorkspace: {
    ...host,
    work: 'unlocking the workspace',
    why: 'a retry finds it unlocked',
  },
  removeLayers: {
    ...host,
    work: 'removing the outputs of its tests',
    why: 'best effort; `emend gc` removes what stays',
  },
  auditChange: { ...model, work: 'the model call that audits the change' },
  rollBack: {
    ...host,
    work: 'restoring the files',
    why: 'a retry continues where the last attempt ended',
  },
  commit: { ...commits, work: 'committing what was applied' },
  checkMove: {
    ...host,
    work: 'comparing files for a move',
    why: 'it only reads; its failure refuses the move',
  },
  verifyDecision: {
    ...host,
    work: 'checking a signature',
    why: 'it only reads; its failure is ignored',
  },
  readPlan: { ...host, work: 'reading the plan', why: 'each reading is recorded once' },
  writePhaseJob: { ...host, work: 'writing the job of a phase', why: 'each job is recorded once' },
  markPhase: { ...commits, work: 'marking a phase in the plan' },
  prepareWorktree: {
    ...host,
    mayRunCommands: true,
    more_s: { worktreeAdd_s: 1, timeout_s: 1 },
    work: 'making a worktree for a phase',
    why: 'a checkout, then `worktree.setup` within `testTimeout_s`',
  },
  mergePhase: { ...host, work: 'merging a phase', why: 'runs no hooks; a retry finds the merge' },
  removeWorktree: {
    ...host,
    work: 'removing a worktree',
    why: 'a ref keeps a commit that is not reachable otherwise',
  },
  saveCheckpoint: {
    ...host,
    work: 'saving the checkpoint',
    why: 'each is written once, under its number',
  },
  awaitChild: {
    ...host,
    work: 'waiting for the run of a phase',
    why: 'waits half its time and is then repeated',
  },
  applyReplan: { ...commits, work: 'writing the new plan of a phase' },
  scorePhase: { ...model, work: 'the model call for a second score of a phase' },
  debugPhase: { ...model, work: 'the model call for a report on failed tests' },
  proposeReplan: { ...model, work: 'the model call for a new plan of a phase' },
} as const satisfies { readonly [N in ActivityName]: ActivitySpec & Fitting<N> };
/** The type of the failure of what a worker had begun when it was told to stop. */
export const HANDED_BACK = 'handed_back';
