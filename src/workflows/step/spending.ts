/** Counts what the step has used, and asks before a call that would exceed a limit or that spends without success. Pure. */
import type { Pause, PauseReason } from '../../shared/decisions.js';
import { cut } from '../../shared/rules.js';
import { count } from '../../shared/text.js';
import {
  addUsage,
  expectedText,
  isOverEstimate,
  reachedBudget,
  type StepUsage,
  usageText,
  usedOf,
} from '../../shared/usage.js';
import { notCounted } from '../frame/log.js';
import { type Effect, pause } from './protocol.js';
import { budgetOf, unfinishedPaths } from './selectors.js';
import type { FileEntry, StepState } from './state.js';

/** Adds what a call used. If the usage comes from the journal, that has the call already. */
export const spend = (state: StepState, usage: StepUsage): StepState => ({
  ...state,
  usage: state.usageFromJournal ? state.usage : addUsage(state.usage, usage),
});

/** Takes the usage from the journal, which also has calls that no activity reported. The journal of another home has fewer, and is not taken. */
export const onUsageCounted = (
  state: StepState,
  usage: StepUsage | null,
  currentTime_ms: number,
): StepState => {
  if (usage === null) return notCounted(state, currentTime_ms);
  return usage.calls < state.usage.calls ? state : { ...state, usage, usageFromJournal: true };
};

/** Returns the question that must come before the next call to the model. Null: none. */
export function spendingPause(state: StepState, currentTime_ms: number): Effect | null {
  const runaway = runawayPause(state);
  return (
    budgetReached(state, currentTime_ms) ??
    (runaway === null ? null : { kind: 'pause', pause: runaway })
  );
}

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

const FILES_NAMED = 10; // bound: Maximum number of files in the message. The ledger lists all of them.

/** The reasons why a file has no edit, for people. Other reasons are shown by their code alone. */
const FAILURE_WORDS: Partial<Record<PauseReason, string>> = {
  attempts_exhausted: 'the answers of the model could not be used',
  truncation: 'the answers of the model were cut off',
  unmarked: 'the answers of the model had no completeness marker',
  declined: 'the model refused the task',
  call_lost: 'the calls were interrupted',
  prompt_cut: 'the server cut the prompt',
  model_unavailable: 'the model could not be asked',
  engine_failed: 'Emend could not do its work',
};

/** Files that failed for the same reason. */
interface SameFailure {
  readonly reason: PauseReason;
  readonly files: readonly FileEntry[];
}

/** Returns the files that failed for the same reason. Null: they are fewer than the bound, a file was edited, or a person has answered. */
export function sameFailure(state: StepState): SameFailure | null {
  const { edits, answered } = state;
  if (answered.sameFailure || edits.hasSuccess) return null;
  const byReason = new Map<PauseReason, FileEntry[]>();
  for (const file of edits.files)
    if (file.status === 'failed' && file.failure !== null)
      byReason.set(file.failure.reason, [...(byReason.get(file.failure.reason) ?? []), file]);
  const { sameFailures } = state.input.rules.bounds;
  const found = [...byReason].find(([, files]) => files.length >= sameFailures);
  return found === undefined ? null : { reason: found[0], files: found[1] };
}

/** Returns whether the run has used so much that it asks, and no person has answered yet. */
export const asksOverEstimate = (state: StepState): boolean => {
  const { usage, base, answered } = state;
  return (
    !answered.overEstimate &&
    base.estimate !== undefined &&
    isOverEstimate(usage, base.estimate, state.input.rules.bounds)
  );
};

function sameFailureText({ reason, files }: SameFailure): string {
  const words = FAILURE_WORDS[reason];
  const named = files.slice(0, FILES_NAMED).map(({ path }) => path);
  const more = files.length - named.length;
  return [
    `${files.length} files failed for the same reason, and no file was edited: ${reason}`,
    words === undefined ? '' : ` (${words})`,
    `: ${named.join(', ')}`,
    more > 0 ? ` and ${more} more` : '',
  ].join('');
}

/** Returns the question whether the run should continue. Null: it spends as expected, or a person has answered. */
function runawayPause(state: StepState): Pause | null {
  const same = sameFailure(state);
  const isOver = asksOverEstimate(state);
  if (same === null && !isOver) return null;
  const { usage, base } = state;
  const { overEstimate_times } = state.input.rules.bounds;
  const open = unfinishedPaths(state).length;
  const last = same?.files.at(-1)?.failure?.message;
  const message = [
    ...(same === null ? [] : [sameFailureText(same)]),
    ...(isOver ? [`the run has used ${overEstimate_times} times its estimate`] : []),
    `used: ${usageText(usage)}`,
    ...(base.estimate === undefined ? [] : [`estimate: ${expectedText(base.estimate)}`]),
    ...(open === 0 ? [] : [`${count(open, 'file is', 'files are')} not done yet`]),
    ...(last === undefined ? [] : [`the last failure: ${last}`]),
  ];
  return {
    reason: 'runaway',
    message: cut(state.input.rules, message.join('; ')),
    files: [],
    subject: null,
  };
}
