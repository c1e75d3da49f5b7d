/** Facts from the proposal to the commit. */
import { within } from '../frame/machine.js';
import { appliedPaths, type Chunk, wantsAudit, wantsCommit } from './effects.js';
import { PASSED, type RunTestsResult, type TestRun } from '../../shared/test-activities.js';
import type {
  ApplyResult,
  CommitResult,
  ConflictFile,
  HeldLock,
  RebaseResult,
  ProposalSummary,
  BuildProposalResult,
  ChangedFiles,
  NoSandbox,
  SandboxBlocks,
} from '../../shared/proposal-activities.js';
import { linesChanged } from '../../shared/text.js';
import { sentence } from '../../shared/problems.js';
import { failChunk, onRefusedAnswer } from './reduce-propose.js';
import { waitToApply, withWrites } from './reduce-tests.js';
import { onFailedVerification } from './reduce-verify.js';
import { NO_BASE_MOVES, type FileEntry, type StepState } from './state.js';
import { cut } from '../../shared/rules.js';
import {
  afterApply,
  afterVerify,
  close,
  endOfWork,
  hasFailed,
  PART,
  toReview,
} from './transitions.js';
import { asking } from '../frame/decisions/asking.js';
import { emit, warnOfPaths } from '../frame/log.js';

/** A new proposal: verdicts on files whose base and result are the same stand. About failed files a person is asked first. */
function onProposal(state: StepState, proposal: ProposalSummary, now: number): StepState {
  // What an answer made that was asked for again, and that it makes no more, is no file of the step.
  const there = new Set([...appliedPaths(state), ...proposal.files.map(({ path }) => path)]);
  const isFile = ({ path, madeBy, status }: FileEntry): boolean =>
    madeBy === undefined || status === 'skipped' || there.has(path);
  const known = within(state, 'edits', { files: state.edits.files.filter(isFile) });
  const told = emit({ ...known, proposal }, now, {
    type: 'proposal_ready',
    proposal: proposal.id,
    file_count: proposal.files.length,
    ...linesChanged(proposal),
  });
  return wantsAudit(told, 'before_approval')
    ? { ...told, stage: { at: 'audit' } }
    : toReview(told, now);
}

export function onProposalBuilt(
  before: StepState,
  result: BuildProposalResult,
  now: number,
): StepState {
  if (result.outcome === 'no_sandbox') return askForConsent(before, result);
  const state = withoutOnce(before);
  switch (result.outcome) {
    case 'built':
      return onProposal(state, result.proposal, now);
    case 'empty': {
      if (hasFailed(state)) return { ...state, stage: PART, proposal: null };
      const allSkipped = state.edits.files.every((file) => file.status === 'skipped');
      return endOfWork(state, now, allSkipped ? 'skipped' : 'unchanged');
    }
    case 'refused': {
      const known = new Set(
        state.edits.files.filter(({ status }) => status === 'done').map(({ path }) => path),
      );
      const stranger = result.files.find((file) => !known.has(file.path));
      // Nothing that could be asked for again: building it again would go on for ever.
      if (result.files.length === 0 || stranger !== undefined) {
        const message = cut(
          state.input.rules,
          `build: ${stranger?.message ?? 'refused without a file'}`,
        );
        return asking(state, 'engine_failed', message);
      }
      return result.files.reduce<StepState>(
        (next, refused) => askForEntry(next, refused, now),
        state,
      );
    }
  }
}

/** A file that a build refused is asked for again, or its person is asked. */
function askForEntry(
  before: StepState,
  refused: Extract<BuildProposalResult, { outcome: 'refused' }>['files'][number],
  now: number,
): StepState {
  const { files, chunks: seq } = before.edits;
  const entry = files.find((file) => file.path === refused.path);
  if (entry === undefined) return before;
  const state: StepState = { ...before, stage: { at: 'propose' } };
  const chunk: Chunk = { file: entry.path, seq, total: files.length, attempt: entry, heads: [] };
  // What a person wrote is never asked for again over their head.
  if (entry.manual)
    return failChunk(state, chunk, { reason: 'engine_failed', message: refused.message }, now);
  if (refused.findings !== true)
    return onRefusedAnswer(state, chunk, { outcome: 'refused', ...refused }, now);
  const attempt = { ...entry, kept: { accepted: null, heads: [], result: '' } };
  return onRefusedAnswer(state, { ...chunk, attempt }, { outcome: 'findings', ...refused }, now);
}

export function onApplied(before: StepState, result: ApplyResult, now: number): StepState {
  const state = within(before, 'applied', { uncertain: null });
  const { proposal } = state;
  if (proposal === null) return state;
  switch (result.outcome) {
    case 'applied':
    case 'conflict': {
      const { all, decision } = state.applied;
      const application = { proposal: proposal.ref, decision, files: result.files };
      const change = {
        lock: lockAfter(state, result.lock),
        all: result.files.length === 0 ? all : [...all, application],
      };
      const applied: StepState = {
        ...within(within(state, 'applied', change), 'tests', NO_BASE_MOVES),
        stage: { at: 'apply', busy: null },
      };
      const told = emit(applied, now, {
        type: 'applied',
        file_count: result.files.length,
        proposal: proposal.id,
      });
      return result.outcome === 'applied'
        ? afterApply(told, now)
        : askConflict(told, { at: 'apply', conflicts: result.conflicts }, now);
    }
    case 'busy':
      return waitToApply(withoutUnboundPass(state), result, now);
    case 'base_changed':
      return askConflict(state, { at: 'apply', conflicts: result.conflicts }, now);
    case 'already_committed':
      return onAlreadyCommitted(state, result, now);
    case 'base_moved':
      return onBaseMoved(state, { proposal, otherLock: result.otherLock }, now);
    case 'failed':
      return asking(state, 'engine_failed', cut(state.input.rules, sentence(result.problem)));
  }
}

/** The commit of the run is there: the commit activity finds it under its lock. A job that wants no commit any more ends without a change. */
const onAlreadyCommitted = (
  state: StepState,
  { lock, applications: all }: Extract<ApplyResult, { outcome: 'already_committed' }>,
  currentTime_ms: number,
): StepState =>
  wantsCommit(state)
    ? { ...within(state, 'applied', { lock, all }), stage: { at: 'commit' } }
    : close(state, currentTime_ms, 'unchanged');

/** A pass on a base without a hash holds for that moment only: the workspace is locked, so its files may change. */
const withoutUnboundPass = (state: StepState): StepState =>
  state.tests.proposed?.result.baseHash === null
    ? within(state, 'tests', { proposed: null })
    : state;

const BASE_MOVES = 3; // bound: Test runs in a row that a change of other files makes void, before the reviewer is asked.
const BASE_MOVES_BY_RUNS = 10; // bound: Test runs in a row that other runs in the workspace make void, before the reviewer is asked.

/**
 * Other files changed since the tests passed: the tests run again right before the apply. Runs that work in one workspace move its base
 * for each other, and each of them comes to its end: that is no question for the reviewer until there is no end of it.
 */
function onBaseMoved(
  state: StepState,
  { proposal, otherLock }: { proposal: ProposalSummary; otherLock: number | null },
  currentTime_ms: number,
): StepState {
  const { tests } = state;
  const isByRun = otherLock !== null && otherLock > (tests.otherLock ?? 0);
  const baseMoves = tests.baseMoves + (isByRun ? 0 : 1);
  const movesByRuns = tests.movesByRuns + (isByRun ? 1 : 0);
  const untested = within(state, 'tests', { proposed: null, baseMoves, movesByRuns, otherLock });
  if (baseMoves < BASE_MOVES && movesByRuns < BASE_MOVES_BY_RUNS) {
    const message = 'files changed since the tests passed: the tests run again before the apply';
    return emit(untested, currentTime_ms, { type: 'warning', message });
  }
  const reason = `other files of the workspace changed ${baseMoves + movesByRuns} times between the tests and the apply; \`rebase\` tests again`;
  const conflicts = proposal.files.map(({ path }) => ({ path, why: reason }));
  return askConflict(
    within(untested, 'tests', NO_BASE_MOVES),
    { at: 'apply', conflicts },
    currentTime_ms,
  );
}

/** The commit's parent is HEAD as it was at the first application; the lock that is held is the newest. */
const lockAfter = ({ applied: { all, lock } }: StepState, newest: HeldLock): HeldLock =>
  all.length === 0 || lock === null ? newest : { ...lock, token: newest.token };

/** A reason that names its file already is not told the name twice. */
const withPath = ({ path, message }: { readonly path: string; readonly message: string }): string =>
  message.startsWith(path) ? message : `${path}: ${message}`;

interface Conflict {
  readonly at: 'apply' | 'commit' | 'rebase';
  readonly conflicts: readonly ConflictFile[];
  readonly reason?: 'conflict' | 'hook_changed';
}

function askConflict(
  state: StepState,
  { at, conflicts, reason = 'conflict' }: Conflict,
  now: number,
): StepState {
  const files = conflicts.map((conflict) => ({
    path: conflict.path,
    reason,
    message: cut(state.input.rules, conflict.why),
  }));
  const message = cut(state.input.rules, files.map((file) => withPath(file)).join('; '));
  const told = emit(state, now, {
    type: 'conflict',
    files: files.map((file) => file.path),
    where: at,
  });
  return { ...told, ask: { reason, message, files, subject: null } };
}

/**
 * What was found in the edit, and the tolerances it needed, hold for the edit carried over: the reviewer sees them again, with the lines of
 * the merged file where its guard found them there, too.
 */
function withEarlierFindings(
  proposal: ProposalSummary,
  earlier: ProposalSummary | null,
): ProposalSummary {
  if (earlier === null) return proposal;
  const paths = new Set(proposal.files.map((file) => file.path));
  const again = new Set(proposal.findings.map(({ guard, path }) => `${guard} ${path}`));
  const still = earlier.findings.filter(
    ({ guard, path }) => paths.has(path) && !again.has(`${guard} ${path}`),
  );
  const findings = [...still, ...proposal.findings];
  return {
    ...proposal,
    findings,
    tolerances: [...new Set([...earlier.tolerances, ...proposal.tolerances])],
  };
}

export function onRebased(state: StepState, result: RebaseResult, now: number): StepState {
  const carried: StepState = { ...state, stage: { at: 'rebase', files: null } };
  const told = emit(carried, now, { type: 'rebased', clean: result.outcome !== 'conflict' });
  switch (result.outcome) {
    case 'built':
      return onProposal(told, withEarlierFindings(result.proposal, state.proposal), now);
    case 'empty':
      return endOfWork(told, now, 'unchanged');
    case 'conflict':
      return askConflict(told, { at: 'rebase', conflicts: result.conflicts }, now);
  }
}

/** What was tested is what is committed: other bytes are asked about. */
function askAboutChanged(state: StepState, { by, files, staged }: ChangedFiles): StepState {
  const isAgain =
    state.stage.at === 'verify' ? '; on disk they have the content of the change again' : '';
  const what =
    by === 'tests'
      ? `the tests passed, but files to be committed were changed in the meantime${isAgain}`
      : 'files were changed after the change was applied and before the tests ran';
  const withStaged = within(state, 'applied', { staged: staged ?? null });
  return asking(
    withStaged,
    'tests_changed_files',
    cut(state.input.rules, `${what}: ${files.join(', ')}`),
  );
}
/** Nothing was run: a person is asked first. */
const askForConsent = (state: StepState, { why }: NoSandbox): StepState =>
  asking(
    state,
    'sandbox_unavailable',
    cut(state.input.rules, `there is no sandbox for the next commands: ${why}`),
  );
/** Nothing is wrong with the change, as far as is known. */
const askAboutSandbox = (state: StepState, { why }: SandboxBlocks): StepState =>
  asking(state, 'sandbox_blocks_tests', cut(state.input.rules, why));

/** A consent for once is used up. */
const withoutOnce = (state: StepState): StepState => {
  if (state.sandbox?.without !== 'once') return state;
  const { reread } = state.sandbox;
  return { ...state, sandbox: reread === undefined ? {} : { reread } };
};

type ChangeResult = Exclude<RunTestsResult, { readonly on: 'base' }>;

/** Folds in a run of the tests on what was applied. */
export function onVerified(
  before: StepState,
  result: ChangeResult,
  currentTime_ms: number,
): StepState {
  const run = finishedRun(before, result, currentTime_ms);
  return 'state' in run ? afterVerify(run.state) : run;
}

/** Folds in a run of the tests on these files of the proposal, before they are applied. */
export function onProposalTested(
  before: StepState,
  { result, files, isFresh }: { result: ChangeResult; files: readonly string[]; isFresh: boolean },
  currentTime_ms: number,
): StepState {
  const proposal = before.proposal?.id;
  if (proposal === undefined) return before;
  const tested =
    'on' in result && result.on === 'proposal'
      ? within(before, 'tests', { proposed: { proposal, files, isFresh, result } })
      : before;
  const run = finishedRun(tested, result, currentTime_ms);
  return 'state' in run ? run.state : run;
}

/** Returns the state after tests that passed, or (`StepState`) what follows where they did not pass, or did not run. */
function finishedRun(
  before: StepState,
  result: ChangeResult,
  currentTime_ms: number,
): { readonly state: StepState } | StepState {
  if (result.outcome === 'no_sandbox') return askForConsent(before, result);
  if (result.outcome === 'no_overlay')
    return within(before, 'tests', { afterApply: result.reason });
  const ran = withoutOnce(before);
  const state = within(ran, 'tests', { runs: (ran.tests.runs ?? 0) + 1 });
  if (result.outcome === 'changed_files') return askAboutChanged(state, result);
  const verified = withVerdict(state, result, currentTime_ms);
  const { outcome, kind, signature, output, summary, suggestions } = result;
  if (PASSED.includes(outcome)) return { state: within(verified, 'tests', { longer: false }) };
  // A failure that may have been the machine's is tried once more, with more time.
  if (result.transient && !before.tests.longer)
    return within(verified, 'tests', { longer: true, proposed: null });
  return onFailedVerification(
    within(verified, 'tests', { longer: false }),
    { kind, signature, output, suggestions, summary: cut(state.input.rules, summary) },
    currentTime_ms,
  );
}

function withVerdict(state: StepState, result: TestRun, currentTime_ms: number): StepState {
  const { outcome, kind, signature, on, alsoChanged = [] } = result;
  const verdict = { last: outcome, remember: null, warnings: result.warnings ?? [] };
  const verified = emit(within(state, 'tests', verdict), currentTime_ms, {
    type: 'verified',
    outcome,
    kind,
    signature,
    summary: cut(state.input.rules, result.summary),
  });
  const others =
    on === 'proposal'
      ? 'the tests also wrote other files, which are not kept'
      : 'the tests also changed other files';
  return withWrites(
    warnOfPaths(verified, others, alsoChanged, currentTime_ms),
    'the tests',
    result,
    currentTime_ms,
  );
}

export function onCommitted(before: StepState, result: CommitResult, now: number): StepState {
  if (result.outcome === 'no_sandbox') return askForConsent(before, result);
  const state = withoutOnce(before);
  switch (result.outcome) {
    case 'committed': {
      const { commit, note, marks } = result;
      const made = { ...state, ...(marks === true ? { marks } : {}), commit };
      return close(emit(made, now, { type: 'committed', commit, note }), now, 'committed');
    }
    case 'sandbox_blocks':
      return askAboutSandbox(state, result);
    case 'nothing':
      return close(state, now, 'unchanged');
    case 'conflict': {
      const { staged, reason } = result;
      const held = staged === undefined ? state : within(state, 'applied', { staged });
      return askConflict(
        held,
        { at: 'commit', conflicts: [{ path: '(commit)', why: result.why }], reason },
        now,
      );
    }
    case 'failed':
      return asking(state, 'engine_failed', cut(state.input.rules, sentence(result.problem)));
  }
}
