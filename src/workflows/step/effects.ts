/**
 * The next move of an edit step, from its state alone. The workflow performs it and folds what came of it into the state
 * (reduce.ts); nothing here knows a file, a model or a clock other than the workflow's own.
 */
import type { PauseReason } from '../../shared/decisions.js';
import { foundText } from '../../shared/event-text.js';
import { count, linesChanged } from '../../shared/text.js';
import type { ProposalSummary, SelectedFiles } from '../../shared/proposal-activities.js';
import type { BlobRef } from '../../shared/ids.js';
import { outageEffect } from '../../shared/outage.js';
import {
  approvedPaths,
  budgetOf,
  isPart,
  isUnfinished,
  lacksConsent,
  maxChunks,
  mayRepair,
  undecidedPaths,
  unfinishedPaths,
  type CallProgress,
  type StepState,
} from './state.js';
import { runawayPause } from './runaway.js';
import {
  baseQuestion,
  havePassed,
  isProven,
  testsAfterApply,
  testsOfProposal,
  verifiesAfterApply,
  wantsBase,
  wantsTestsFirst,
  wantsTests,
} from './reduce-tests.js';
import { reachedBudget, usedOf } from '../../shared/usage.js';
import { busyWait_ms } from '../frame/log.js';
import type { FrameEffect } from '../frame/machine.js';

export interface Chunk {
  /** Path, or `*` for the whole step. */
  readonly file: string;
  readonly seq: number;
  readonly total: number;
  readonly attempt: CallProgress;
  /** Heads of the chain of accepted results when it started. */
  readonly heads: readonly BlobRef[];
}
export type Effect = FrameEffect | OwnEffect;
type OwnEffect =
  | { readonly kind: 'preflight' }
  | { readonly kind: 'pick' }
  | { readonly kind: 'brief' }
  | { readonly kind: 'propose'; readonly chunks: readonly Chunk[] }
  | { readonly kind: 'build' }
  | { readonly kind: 'approve_by_policy' }
  | { readonly kind: 'apply'; readonly files: readonly string[]; readonly releaseAfter: boolean }
  | { readonly kind: 'rebase' }
  /** Tests in the workspace after the apply. */
  | { readonly kind: 'verify' }
  /** Tests on the base, side by side with the call that comes next; null: alone. */
  | {
      readonly kind: 'try_base';
      readonly beside: Extract<Effect, { kind: 'brief' | 'propose' }> | null;
    }
  /** Tests on these files of the proposal before they are applied; `isFresh`: right before that. */
  | {
      readonly kind: 'test_proposal';
      readonly files: readonly string[];
      readonly isFresh: boolean;
    }
  | { readonly kind: 'audit'; readonly calls: number }
  | { readonly kind: 'release' | 'roll_back' }
  | { readonly kind: 'commit' };

const pause = (
  reason: PauseReason,
  message: string,
  paths: readonly string[] = [],
  subject: string | null = null,
): Effect => ({
  kind: 'pause',
  pause: { reason, message, files: paths.map((path) => ({ path, reason, message })), subject },
});

/** Against `maxTotalChunks`: a chunk counts once it is begun, and every call that was paid for. One for a file that goes calls nobody. */
const callsUsed = ({ edits: { chunks, unanswered, calls, files } }: StepState): number =>
  Math.max(
    chunks -
      unanswered -
      files.filter(({ deletes, status }) => deletes && status === 'done').length,
    calls,
  );

export const chunksLeft = (state: StepState): number =>
  Math.max(0, maxChunks(state) - callsUsed(state));

function budgetReached(state: StepState, currentTime_ms: number): Effect | null {
  const { usage, base, startedAt, pausedFor_ms } = state;
  const reached = reachedBudget(
    base.limits,
    usedOf({ usage, time_ms: currentTime_ms - startedAt - pausedFor_ms }),
    { default_usd: budgetOf(state)?.usd ?? null },
  );
  return reached === null
    ? null
    : pause('budget', reached.message, unfinishedPaths(state), reached.name);
}

/** Returns the pause that must come before the next call to the model; null: none. */
function spendingPause(state: StepState, currentTime_ms: number): Effect | null {
  const runaway = runawayPause(state);
  return (
    budgetReached(state, currentTime_ms) ??
    (runaway === null ? null : { kind: 'pause', pause: runaway })
  );
}

function limitReached(state: StepState, now: number): Effect | null {
  const [used, most] = [callsUsed(state), maxChunks(state)];
  const spending = spendingPause(state, now);
  if (spending !== null || used < most) return spending;
  const message = `${used} edit calls used; maxTotalChunks is ${most}`;
  return pause('chunk_limit', message, unfinishedPaths(state), 'maxTotalChunks');
}

/** Answers that may be asked for until one is an audit. */
function auditCalls({ base: { limits }, usage }: StepState): number {
  const left = (limits?.budget_calls ?? Infinity) - usage.calls;
  return Math.max(1, Math.min(limits?.maxAttemptsPerFile ?? 2, left));
}

function proposeEffect(state: StepState, now: number): Effect {
  const { files, combined, accepted: heads, ...edits } = state.edits;
  const pending = files.filter(isUnfinished);
  const first = pending[0];
  if (first !== undefined) {
    const limited = limitReached(state, now);
    if (limited !== null) return limited;
    const waiting = outageEffect(state, now);
    if (waiting?.kind === 'pause')
      return pause(waiting.pause.reason, waiting.pause.message, unfinishedPaths(state));
    if (waiting !== null) return waiting;
    const seq = edits.chunks + 1;
    if (combined !== null)
      return { kind: 'propose', chunks: [{ file: '*', seq, total: 1, attempt: combined, heads }] };
    if (edits.briefWanted && edits.brief === null) return { kind: 'brief' };
    // Whether a model is back is tried with one call.
    const most = state.outage === null ? (state.base.limits?.concurrency ?? 1) : 1;
    const width = Math.min(most, chunksLeft(state));
    return {
      kind: 'propose',
      chunks: pending.slice(0, width).map((file, index) => ({
        file: file.path,
        seq: seq + index,
        total: files.length,
        attempt: file,
        heads,
      })),
    };
  }
  const failed = files
    .filter((file) => file.status === 'failed')
    .map(({ path, failure }) => ({
      path,
      reason: failure?.reason ?? ('engine_failed' as const),
      message: failure?.message ?? 'failed',
    }));
  const [worst] = failed;
  if (worst === undefined) return { kind: 'build' };
  const approvable =
    state.input.rules.answers[worst.reason].includes('approve') &&
    leftOut(state).exclude.length < files.length;
  if (approvable && !(state.stage.at === 'propose' && state.stage.part)) return { kind: 'build' };
  const part =
    state.proposal === null || !isPart(state)
      ? ''
      : `; approve accepts the rest without what failed: ${sumOf(state, state.proposal)}`;
  const message = `${failed.length} of ${count(files.length, 'file')} could not be edited: ${worst.message}${part}`;
  return { kind: 'pause', pause: { reason: worst.reason, message, files: failed, subject: null } };
}

/** What an approval would take, and consent to. */
function sumOf(state: StepState, proposal: ProposalSummary): string {
  const { files } = proposal;
  const { added, removed } = linesChanged(proposal);
  const parts = [
    `${count(files.length, 'file')}, +${added} -${removed} lines`,
    ...testsText(state),
    ...networkText(state),
    ...(lacksConsent(state) ? [`${UNSANDBOXED} (${state.base.ready?.noSandbox ?? ''})`] : []),
  ];
  return parts.join('; ');
}

/** Says what the commands in the sandbox reach. Without a sandbox they reach everything. */
function networkText({ base, sandbox }: StepState): readonly string[] {
  const network = base.ready?.network;
  return network === undefined || sandbox?.without !== undefined
    ? []
    : [`its commands reach ${network}`];
}

const UNSANDBOXED = 'tests will run without a sandbox';

/** Says what the tests showed on the proposal, or when they will run. */
function testsText(state: StepState): readonly string[] {
  const tested = testsOfProposal(state);
  if (tested !== null) return [`tests of the proposal: ${tested.outcome}: ${tested.summary}`];
  if (!wantsTests(state)) return [];
  const why = testsAfterApply(state);
  return why === null
    ? ['the tests run on the approved files before they are applied']
    : [`the tests run in the workspace after the change is applied: ${why}`];
}
const SAME_BYTES = 'the tests already failed with exactly these changes';

function reviewEffect(state: StepState): Effect {
  const proposal = state.proposal;
  if (proposal === null) return { kind: 'build' };
  const undecided = undecidedPaths(state);
  if (undecided.length > 0) {
    const tests = testsBeforeApproval(state);
    if (tests !== null) return tests;
    const auto = state.base.ready?.approval === 'auto';
    // Told, not asked about: under `approval: auto` the tests fail once more, and `tests_failed` has the answers that help.
    if (auto && proposal.mustAsk.length === 0) return { kind: 'approve_by_policy' };
    const failedBefore = state.tests.failedProposals.includes(proposal.id) ? [SAME_BYTES] : [];
    const told =
      failedBefore.length === 0
        ? 'the proposal is ready'
        : `the proposal is ready, but ${SAME_BYTES}`;
    const why = auto
      ? `approval is auto, but a person must review: ${[...failedBefore, ...proposal.mustAsk].join('; ')}`
      : told;
    return pause('approval', `${why}: ${sumOf(state, proposal)}`, undecided);
  }
  return { kind: 'finish' };
}

/** Returns the tests that must come before these files of the proposal are reviewed, or applied (`isFresh`); null: none. */
function testsBefore(state: StepState, files: readonly string[], isFresh: boolean): Effect | null {
  if (!wantsTestsFirst(state) || files.length === 0) return null;
  const isDone = isFresh ? isProven(state, files) : havePassed(state, files);
  if (isDone) return null;
  if (wantsBase(state)) return { kind: 'try_base', beside: null };
  return { kind: 'test_proposal', files, isFresh };
}

/** Does a model audit the change at this moment? What a person keeps in spite of a failed verification is not audited again. */
export const wantsAudit = (
  { base, applied }: StepState,
  when: 'after_tests' | 'before_approval',
): boolean => base.ready?.audit === when && !applied.incomplete;
export const wantsCommit = ({ base }: StepState): boolean =>
  (base.ready?.commitMessage ?? null) !== null;

/** Paths on disk through this step's applications. */
export const appliedPaths = (state: StepState): readonly string[] =>
  state.applied.all.flatMap((done) => done.files);

/**
 * Paths of the proposal to apply now: approved, not skipped since, not applied yet. What a person changed on top of an earlier
 * application is applied (that is, recorded) with this proposal too.
 */
export const pathsToApply = (state: StepState): readonly string[] => {
  const { files } = state.edits;
  const asManual = new Set(files.filter((file) => file.manual).map((file) => file.path));
  const skipped = new Set(
    files.filter((file) => file.status === 'skipped').map((file) => file.path),
  );
  const applied = new Set(appliedPaths(state));
  const now = new Set(
    state.applied.all
      .filter((done) => done.proposal === state.proposal?.ref)
      .flatMap((done) => done.files),
  );
  return approvedPaths(state).filter(
    (path) => !skipped.has(path) && !(asManual.has(path) ? now.has(path) : applied.has(path)),
  );
};

/** What a proposal leaves out (skipped, failed, applied already), and what it takes from the disk as a person left it. */
export const leftOut = (
  state: StepState,
): { readonly exclude: readonly string[]; readonly manual: readonly string[] } => {
  const applied = new Set(appliedPaths(state));
  const { files } = state.edits;
  const out = files.filter(
    (file) => file.status !== 'done' || (applied.has(file.path) && !file.manual),
  );
  const manual = files.filter((file) => file.manual && file.status === 'done');
  return { exclude: out.map((file) => file.path), manual: manual.map((file) => file.path) };
};

/** Files of the coming proposal that the model may be asked about once more. */
export const repairable = (state: StepState): readonly string[] => {
  const { exclude, manual } = leftOut(state);
  const out = new Set([...exclude, ...manual]);
  return state.edits.files
    .filter(
      (file) =>
        !out.has(file.path) && !file.deletes && file.selected === null && mayRepair(state, file),
    )
    .map((file) => file.path);
};

/** What a proposal takes from earlier proposals, by proposal; undefined: nothing, as in runs in which nobody chose among changes. */
export const selectedFiles = (state: StepState): readonly SelectedFiles[] | undefined => {
  const { exclude, manual } = leftOut(state);
  const out = new Set([...exclude, ...manual]);
  const groups = new Map<
    BlobRef,
    { readonly diff: BlobRef; readonly files: SelectedFiles['files'][number][] }
  >();
  for (const { path, selected } of state.edits.files) {
    if (selected === null || out.has(path)) continue;
    const group = groups.get(selected.proposal) ?? { diff: selected.diff, files: [] };
    group.files.push({ path, changes: selected.changes });
    groups.set(selected.proposal, group);
  }
  return groups.size === 0
    ? undefined
    : [...groups].map(([proposal, group]) => ({ proposal, ...group }));
};

/** Paths that would be applied if the reviewer approved every file without a verdict. */
const pathsIfApproved = (state: StepState): readonly string[] => {
  const approved = new Set([...undecidedPaths(state), ...pathsToApply(state)]);
  return (state.proposal?.files ?? []).map(({ path }) => path).filter((path) => approved.has(path));
};

/** Nothing comes after apply and tests. */
const isLast = (state: StepState): boolean =>
  !wantsCommit(state) && !wantsAudit(state, 'after_tests');

/** An audit of a proposal is paid for only after its tests, if they run before the approval. */
function auditEffect(state: StepState, currentTime_ms: number): Effect {
  const tests = wantsAudit(state, 'before_approval') ? testsBeforeApproval(state) : null;
  return (
    tests ??
    spendingPause(state, currentTime_ms) ??
    outageEffect(state, currentTime_ms) ?? { kind: 'audit', calls: auditCalls(state) }
  );
}

/** Returns the tests that must come before the proposal is reviewed; null: none. */
const testsBeforeApproval = (state: StepState): Effect | null =>
  state.base.ready?.testsAfterApproval === true
    ? null
    : testsBefore(state, pathsIfApproved(state), false);

function applyEffect(state: StepState): Effect {
  const files = pathsToApply(state);
  return (
    testsBefore(state, files, true) ?? {
      kind: 'apply',
      files,
      releaseAfter: !verifiesAfterApply(state) && isLast(state),
    }
  );
}

/** Stages in which the tests of the base may have ended, and in which nothing is lost by an answer to what they showed. */
const ASKS_ABOUT_BASE: readonly StepState['stage']['at'][] = ['propose', 'review', 'apply'];

export function nextEffect(state: StepState, now: number): Effect {
  const { stage } = state;
  if (stage.at === 'closed') return { kind: 'finish' };
  if (state.decision !== null) return { kind: 'await_decision' };
  if (state.ask !== null) return { kind: 'pause', pause: state.ask };
  const question = ASKS_ABOUT_BASE.includes(stage.at) ? baseQuestion(state) : null;
  if (question !== null) return pause(...question);
  switch (stage.at) {
    case 'pick':
      return outageEffect(state, now) ?? { kind: 'pick' };
    case 'propose': {
      const { ready } = state.base;
      if (ready !== null && !state.answered.tests && ready.test.found !== null) {
        const { found, from } = ready.test;
        const what = from === undefined ? found : foundText(from);
        return pause('test_command', `found the project's test command: ${what}`, [], found);
      }
      if (ready !== null && !state.answered.estimate && ready.overEstimate.length > 0)
        return pause('estimate', ready.overEstimate.join('; '));
      const next = proposeEffect(state, now);
      const isCall = next.kind === 'propose' || next.kind === 'brief';
      return isCall && wantsBase(state) ? { kind: 'try_base', beside: next } : next;
    }
    case 'review':
      return reviewEffect(state);
    case 'apply':
      if (stage.busy?.waiting === true)
        return { kind: 'wait', ms: busyWait_ms(state.input.timings.lockPoll_ms, stage.busy.tries) };
      if (wantsBase(state)) return { kind: 'try_base', beside: null };
      return applyEffect(state);
    case 'audit':
      return auditEffect(state, now);
    case 'verify':
    case 'preflight':
    case 'build':
    case 'rebase':
    case 'release':
    case 'roll_back':
    case 'commit':
      return { kind: stage.at };
  }
}
