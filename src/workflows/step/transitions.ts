/** Steps that several facts and decisions share: telling, changing files, asking again, ending. Pure. */
import { within } from '../frame/machine.js';
import type { Progress } from '../../shared/events.js';
import type { MadeFiles, PickedFile } from '../../shared/pick.js';
import { appliedPaths, pathsToApply, wantsAudit, wantsCommit } from './effects.js';
import { verifiesAfterApply } from './reduce-tests.js';
import type { Problem } from '../../shared/problems.js';
import { hostOfQueue } from '../../shared/names.js';
import type { OpenOnHost, StepOutcome } from '../../shared/run.js';
import {
  isUnfinished,
  undecidedPaths,
  type CallProgress,
  type FileEntry,
  type StepState,
} from './state.js';
import { emit, leftOnHost } from '../frame/log.js';

/** Names in the `decided` event what the decision left out: without a worker only events tell what became of a file. */
export const reportSkipped = (before: StepState, after: StepState): StepState => {
  const open = new Set(
    before.edits.files.filter((file) => file.status !== 'skipped').map((file) => file.path),
  );
  const skipped = after.edits.files.filter(
    (file) => file.status === 'skipped' && open.has(file.path),
  );
  if (skipped.length === 0) return after;
  const paths = skipped.map((file) => file.path);
  const events = after.events.map((event) =>
    event.type === 'decided' && event.seq >= before.nextSeq ? { ...event, skipped: paths } : event,
  );
  return { ...after, events };
};

export const progressOf = (state: StepState): Progress => {
  const { files } = state.edits;
  const count = (status: string): number => files.filter((file) => file.status === status).length;
  return {
    done: count('done'),
    failed: count('failed'),
    skipped: count('skipped'),
    total: files.length,
  };
};

export const withFiles = (
  state: StepState,
  paths: readonly string[] | 'all',
  change: (file: FileEntry) => FileEntry,
): StepState => {
  const wanted = paths === 'all' ? null : new Set(paths);
  const files = state.edits.files.map((file) => {
    const next = wanted === null || wanted.has(file.path) ? change(file) : file;
    return isUnfinished(next) && !isUnfinished(file) ? { ...next, again: true as const } : next;
  });
  return within(state, 'edits', { files });
};

/** No attempt made yet. */
export const FRESH = {
  status: 'pending',
  attempts: 0,
  answers: 0,
  unmarkedAsked: false,
  kept: null,
  failure: null,
} as const;

/** A file is asked for anew: fresh attempts, and a new answer (`regeneration`) where the old one must not be found again. */
export const askAgain = (file: FileEntry, change: Partial<CallProgress> = {}): FileEntry => ({
  ...file,
  ...FRESH,
  regeneration: file.regeneration + 1,
  manual: false,
  verdict: null,
  selected: null,
  region: file.region === null ? null : { ...file.region, index: 0, work: null },
  ...change,
  ...(file.madeBy === undefined ? {} : { status: 'done' }),
});

/** What an answer makes beside the files that it was asked for is reviewed as they are. */
export function withMade(
  state: StepState,
  attempt: CallProgress,
  made: MadeFiles | undefined,
): StepState {
  if (made === undefined) return state;
  const { paths, by: madeBy } = made;
  const known = state.edits.files.map((file) =>
    paths.includes(file.path) ? { ...file, madeBy } : file,
  );
  const fresh = paths.filter((path) => !known.some((file) => file.path === path));
  const entries = fresh.map((path): FileEntry => ({
    ...attempt,
    ...FRESH,
    status: 'done',
    refusal: null,
    unchanged: null,
    region: null,
    linesAsked: null,
    path,
    isNew: true,
    deletes: false,
    bucket: 'A',
    lines: 0,
    madeBy,
    manual: false,
    unreviewed: false,
    verdict: null,
    selected: null,
  }));
  return within(state, 'edits', { files: [...known, ...entries] });
}

/** With the files whose answers made them. */
export const withMakers = (
  { edits: { files } }: StepState,
  paths: readonly string[],
): readonly string[] => {
  const made = files.filter(({ path }) => paths.includes(path)).map(({ madeBy }) => madeBy);
  const makers = files.filter(({ path, status }) => made.includes(path) && status !== 'skipped');
  return [...new Set([...paths, ...makers.map(({ path }) => path)])];
};

export const close = (
  state: StepState,
  now: number,
  outcome: StepOutcome,
  problem: Problem | null = null,
): StepState =>
  emit({ ...state, stage: { at: 'closed', outcome, problem }, decision: null, ask: null }, now, {
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
  const { all: known, uncertain } = state.applied;
  const all = uncertain === null ? known : [...known, uncertain];
  if (all.length === 0 || state.commit !== null) return close(state, now, outcome, problem);
  const stage = { at: 'roll_back', then: { do: 'finish', outcome, problem } } as const;
  return { ...within(state, 'applied', { all }), stage, ask: null };
};

/** What is applied on the step's host and not committed, or was being applied when that went. */
export const openThere = (state: StepState): OpenOnHost => {
  const { input, applied, stage } = state;
  const begun = [
    ...(applied.uncertain?.files ?? []),
    ...(stage.at === 'apply' ? pathsToApply(state) : []),
  ];
  const files = [...new Set([...appliedPaths(state), ...begun])];
  return { host: hostOfQueue(input.queues.host), workspace: input.workspace, files };
};

/**
 * Ends the step though its host takes no work: that may be gone for ever. What is applied there, or was being applied when it went, is
 * named for whoever looks on that host once it is back.
 */
export const endWithoutHost = (state: StepState, now: number): StepState => {
  const { input, commit } = state;
  const openOnHost = openThere(state);
  // A checkout is disposable, and whoever may still work there is fenced by the token.
  if (openOnHost.files.length === 0 || commit !== null || input.repository !== undefined)
    return close(state, now, 'aborted');
  const left = {
    ...within(state, 'applied', { all: [], uncertain: null, lock: null }),
    openOnHost,
  };
  return close(left, now, 'aborted', leftOnHost(openOnHost));
};

/** The files are looked at once more; `only`: these alone, null: all. */
export const lookAgain = (state: StepState, only: readonly string[] | null): StepState => ({
  ...within(state, 'base', { number: state.base.number + 1 }),
  stage: { at: 'preflight', only },
});

/** Those of new files that were named and are not picked stay unmade. */
export const takePicked = (
  state: StepState,
  files: readonly PickedFile[],
  now: number,
): StepState => {
  const told = emit(state, now, { type: 'files_picked', file_count: files.length, files });
  const picked = files.map(({ path }) => path);
  const made = state.base.made?.filter((path) => picked.includes(path));
  return lookAgain(
    within(told, 'base', { picked, picks: files, ...(made === undefined ? {} : { made }) }),
    null,
  );
};
/** The model picks anew, from what these words lead to. */
export const lookFor = (state: StepState, words: readonly string[]): StepState =>
  lookAgain(
    within(state, 'base', { lookFor: words, pickRegeneration: state.base.pickRegeneration + 1 }),
    null,
  );

/** Everything anew from the files as they are now; what a person left out stays out. */
export const newBase = (state: StepState): StepState => {
  const again = withFiles(state, 'all', (file) =>
    file.status === 'skipped' ? file : askAgain(file),
  );
  return { ...within(lookAgain(again, null), 'edits', { accepted: [] }), proposal: null };
};

/** Nothing more to apply: commit what was applied before (after a conflict), or end. */
export function endOfWork(state: StepState, now: number, outcome: StepOutcome): StepState {
  if (state.applied.all.length === 0) return close(state, now, outcome);
  return afterApply(state, now);
}

/** Every file has its verdict: on to apply, or nothing was approved. */
export function resolveReview(state: StepState, now: number): StepState {
  const proposal = state.proposal;
  if (state.stage.at !== 'review' || proposal === null) return state;
  if (undecidedPaths(state).length > 0) return state;
  const toApply = pathsToApply(state);
  if (toApply.length === 0) return endOfWork(state, now, 'skipped');
  const { files } = state.edits;
  const decision = files.reduce(
    (n, file) => Math.max(n, file.verdict?.decision ?? 0),
    state.applied.decision,
  );
  return { ...within(state, 'applied', { decision }), stage: { at: 'apply', busy: null } };
}

export const PART = { at: 'propose', part: true } as const;
export const hasFailed = ({ edits }: StepState): boolean =>
  edits.files.some((file) => file.status === 'failed');
/** About failed files a person is asked first. */
export const toReview = (state: StepState, now: number): StepState =>
  hasFailed(state)
    ? { ...state, stage: PART }
    : resolveReview({ ...state, stage: { at: 'review' } }, now);

/** Files that the model changed and that may be asked for again: those of the proposal, and those approved before it. */
export const regenerable = (state: StepState): readonly string[] => {
  const changed = new Set((state.proposal?.files ?? []).map((file) => file.path));
  return state.edits.files
    .filter((file) => file.status === 'done' && !file.manual)
    .filter((file) => changed.has(file.path) || file.verdict?.answer === 'approve')
    .map((file) => file.path);
};

export const toRegenerate = (state: StepState): readonly string[] =>
  withMakers(state, regenerable(state));

/** Every file that the model changed is asked for again from its original; what a person changed stays theirs. No person asks: answers count on. */
export const regenerateAll = (state: StepState, change: Partial<CallProgress>): StepState => ({
  ...withFiles(within(state, 'applied', { incomplete: false }), toRegenerate(state), (file) =>
    askAgain(file, { answers: file.answers, ...change }),
  ),
  stage: { at: 'propose' },
  proposal: null,
});

/** A person asks again with the note and why it failed; what a person changed by hand becomes the new base of those files. */
export function regenerateWith(state: StepState, note: string | null): StepState {
  const change = { note, refusal: state.tests.output, answers: 0 };
  const theirs = state.edits.files
    .filter((file) => file.manual && file.status === 'done')
    .map((file) => file.path);
  const again = regenerateAll(state, change);
  const asked = withFiles(again, theirs, (file) => askAgain(file, change));
  return theirs.length === 0 ? again : lookAgain(asked, theirs);
}

/** What was asked for is on disk: it is tested there if it was not tested before, then committed, or the step ends. */
export const afterApply = (state: StepState, now: number): StepState => {
  if (verifiesAfterApply(state)) return { ...state, stage: { at: 'verify' } };
  const unverified = within(state, 'tests', { last: state.tests.last ?? 'no_tests' });
  return afterTests(unverified, now);
};

/** What is on disk passed its tests, or has none; nothing is locked any more unless something follows. */
const afterTests = (state: StepState, now: number): StepState =>
  stageAfterTests(state) ?? close(state, now, 'applied');

/** What is on disk passed its tests there, under the step's lock. */
export const afterVerify = (state: StepState): StepState =>
  stageAfterTests(state) ?? { ...state, stage: { at: 'release' } };

const stageAfterTests = (state: StepState): StepState | null => {
  if (wantsAudit(state, 'after_tests')) return { ...state, stage: { at: 'audit' } };
  return wantsCommit(state) ? { ...state, stage: { at: 'commit' } } : null;
};
