/** Steps that several facts and decisions share: telling, changing files, asking again, ending. Pure. */
import type { Progress } from '../../shared/events.js';
import { pathsToApply, wantsCommit, wantsVerify } from './effects.js';
import type { Problem } from '../../shared/problems.js';
import { hostOfQueue } from '../../shared/names.js';
import type { StepOutcome } from '../../shared/run.js';
import { undecidedPaths, type CallProgress, type FileEntry, type StepState } from './state.js';
import { emit, leftOnHost } from '../frame/log.js';

/** Names in the `decided` event what the decision left out: without a worker only events tell what became of a file. */
export const reportSkipped = (before: StepState, after: StepState): StepState => {
  const open = new Set(before.files.filter((file) => file.status !== 'skipped').map((file) => file.path));
  const skipped = after.files.filter((file) => file.status === 'skipped' && open.has(file.path));
  if (skipped.length === 0) return after;
  const paths = skipped.map((file) => file.path);
  const events = after.events.map((event) =>
    event.type === 'decided' && event.seq >= before.nextSeq ? { ...event, skipped: paths } : event,
  );
  return { ...after, events };
};

export const progressOf = (state: StepState): Progress => {
  const count = (status: string): number => state.files.filter((file) => file.status === status).length;
  return { done: count('done'), failed: count('failed'), skipped: count('skipped'), total: state.files.length };
};

export const withFile = (state: StepState, path: string, change: (file: FileEntry) => FileEntry): StepState => ({
  ...state,
  files: state.files.map((file) => (file.path === path ? change(file) : file)),
});
export const withFiles = (
  state: StepState,
  paths: readonly string[] | 'all',
  change: (file: FileEntry) => FileEntry,
): StepState => {
  const wanted = paths === 'all' ? null : new Set(paths);
  return {
    ...state,
    files: state.files.map((file) => (wanted === null || wanted.has(file.path) ? change(file) : file)),
  };
};

/** No attempt made yet. */
export const FRESH = { status: 'pending', attempts: 0, unmarkedAsked: false, failure: null } as const;

/** A file is asked for anew: fresh attempts, and a new answer (`draw`) where the old one must not be found again. */
export const askAgain = (file: FileEntry, change: Partial<CallProgress> = {}): FileEntry => ({
  ...file,
  ...FRESH,
  draw: file.draw + 1,
  manual: false,
  verdict: null,
  pinned: undefined,
  ...(file.region === undefined ? {} : { region: { ...file.region, index: 0, work: null } }),
  ...change,
});

export const close = (state: StepState, now: number, outcome: StepOutcome, problem: Problem | null = null): StepState =>
  emit({ ...state, stage: 'closed', outcome, problem, decision: null, ask: null }, now, {
    type: 'step_finished',
    outcome,
  });

/** Ends the step; what is (or may be) applied and not committed is rolled back first. */
export const endAfterRollback = (
  state: StepState,
  now: number,
  outcome: StepOutcome,
  problem: Problem | null = null,
): StepState => {
  const applications = state.applying === null ? state.applications : [...state.applications, state.applying];
  return applications.length > 0 && state.commit === null
    ? { ...state, applications, stage: 'rollback', afterRollback: 'finish', outcome, problem, ask: null }
    : close(state, now, outcome, problem);
};

/**
 * Ends the step though its host takes no work: that may be gone for ever. What is applied there, or was being applied when it went, is
 * named for whoever looks on that host once it is back.
 */
export const endWithoutHost = (state: StepState, now: number): StepState => {
  const { input, applications, applying, stage, commit } = state;
  const begun = [...(applying?.files ?? []), ...(stage === 'apply' ? pathsToApply(state) : [])];
  const files = [...new Set([...applications.flatMap((done) => done.files), ...begun])];
  if (files.length === 0 || commit !== null) return close(state, now, 'aborted');
  const openOnHost = { host: hostOfQueue(input.queues.host), workspace: input.workspace, files };
  const left = { ...state, applications: [], applying: null, lease: null, openOnHost };
  return close(left, now, 'aborted', leftOnHost(openOnHost));
};

/** Everything anew from the files as they are now; what a person left out stays out. */
export const newBase = (state: StepState): StepState => ({
  ...withFiles(state, 'all', (file) => (file.status === 'skipped' ? file : askAgain(file))),
  stage: 'preflight',
  snapshotNumber: state.snapshotNumber + 1,
  snapshotOnly: null,
  accepted: [],
  proposal: null,
});

/** Nothing more to apply: commit what was applied before (after a conflict), or end. */
export function endOfWork(state: StepState, now: number, outcome: StepOutcome): StepState {
  if (state.applications.length === 0) return close(state, now, outcome);
  return afterApply(state, now);
}

/** Every file has its verdict: on to apply, or nothing was approved. */
export function resolveReview(state: StepState, now: number): StepState {
  const proposal = state.proposal;
  if (state.stage !== 'review' || proposal === null) return state;
  if (undecidedPaths(state).length > 0) return state;
  const toApply = pathsToApply(state);
  if (toApply.length === 0) return endOfWork(state, now, 'skipped');
  const approval = state.files.reduce((n, file) => Math.max(n, file.verdict?.decision ?? 0), state.approvalNumber);
  return {
    ...state,
    stage: 'apply',
    approvalNumber: approval,
    busySince: null,
    busyTries: 0,
    busyAdvice: null,
  };
}

/** Files that the model changed and that may be asked for again: those of the proposal, and those approved before it. */
export const regenerable = (state: StepState): readonly string[] => {
  const changed = new Set((state.proposal?.files ?? []).map((file) => file.path));
  return state.files
    .filter((file) => file.status === 'done' && !file.manual)
    .filter((file) => changed.has(file.path) || file.verdict?.answer === 'approve')
    .map((file) => file.path);
};

/** Every file that the model changed is asked for again from its original; what a person changed stays theirs. */
export const regenerateAll = (state: StepState, change: Partial<CallProgress>): StepState => ({
  ...withFiles(state, regenerable(state), (file) => askAgain(file, change)),
  stage: 'propose',
  proposal: null,
});

/** What was asked for is on disk: verify, commit, or end. */
export const afterApply = (state: StepState, now: number): StepState => {
  if (wantsVerify(state)) return { ...state, stage: 'verify' };
  const unverified = { ...state, verification: state.verification ?? 'no_tests' };
  return wantsCommit(state) ? { ...unverified, stage: 'commit' } : close(unverified, now, 'applied');
};
