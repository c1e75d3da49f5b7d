/**
 * ◆ What a replay goes by. The first activity returns these rules, so that a history replays by them whatever another build
 * has; workflows and reducers read no limit, bound or table of answers elsewhere (a dependency rule refuses it).
 */
import { SHOWN_BOUNDS, STORE_BOUNDS } from './bounds.js';
import { ANSWERS_BY_REASON, WHOLE_ANSWERS, type Answer, type PauseReason } from './decisions.js';
import { BOUNDS, LIMITS, type LimitName, type LimitSpec } from './limits.js';
import type { ReplanAction, ReplanTrigger } from './plan.js';

const BOUND_NAMES = [
  ...([
    'reason_chars',
    'note_bytes',
    'selectedChanges',
    'requestsKept',
    'eventsKept',
    'ignoredKept',
  ] as const),
  ...([
    'driftsKept',
    'patternPhases',
    'debugFailures',
    'shownKey_chars',
    'leastChunks',
    'chunks_perFile',
    'sameFailures',
    'overEstimate_times',
    'leastOverEstimate_usd',
    'leastOverEstimate_tokens',
    'budgetEstimate_times',
    'leastBudget_usd',
    'countTotal_ms',
    'countAttempts',
  ] as const),
  ...(['idleMoves', 'runSignals', 'signalPause_ms'] as const),
] as const;
const SHOWN_NAMES = ['request_chars', 'signal_chars'] as const;
const STORE_NAMES = ['hook_s', 'format_s', 'worktreeAdd_s'] as const;

/** What a model may propose after a trigger; the first is what the trigger stands for. */
export const REPLAN_ACTIONS: Readonly<Record<ReplanTrigger, readonly ReplanAction[]>> = {
  complexity: ['expand_phase', 'split_phase'],
  test_failure_pattern: ['add_phase', 'split_phase', 'update_tasks'],
  scope_drift: ['update_tasks', 'add_phase', 'split_phase'],
  person: ['update_tasks', 'add_phase', 'split_phase', 'expand_phase', 'collapse_phase'],
};

export interface Rules {
  readonly bounds: Readonly<
    Record<(typeof BOUND_NAMES)[number] | (typeof SHOWN_NAMES | typeof STORE_NAMES)[number], number>
  >;
  /** What a decision may set; others are no limits of the run. */
  readonly limits: Readonly<Partial<Record<LimitName, Pick<LimitSpec, 'unit' | 'min' | 'max'>>>>;
  readonly answers: Readonly<Record<PauseReason, readonly Answer[]>>;
  readonly wholeAnswers: readonly Answer[];
  /** What a model may propose after a trigger; the first is what the trigger stands for. */
  readonly replanActions: Readonly<Record<ReplanTrigger, readonly ReplanAction[]>>;
}

const pick = <N extends string>(
  from: Readonly<Record<N, number>>,
  names: readonly N[],
): Record<N, number> =>
  Object.fromEntries(names.map((name) => [name, from[name]])) as Record<N, number>;

/** For a run that is started now. */
export const currentRules = (): Rules => ({
  bounds: {
    ...pick(BOUNDS, BOUND_NAMES),
    ...pick(SHOWN_BOUNDS, SHOWN_NAMES),
    ...pick(STORE_BOUNDS, STORE_NAMES),
  },
  limits: Object.fromEntries(
    Object.entries(LIMITS).map(([name, { unit, min, max }]) => [name, { unit, min, max }]),
  ),
  answers: ANSWERS_BY_REASON,
  wholeAnswers: WHOLE_ANSWERS,
  replanActions: REPLAN_ACTIONS,
});

export const isLimitName = ({ limits }: Rules, name: string): name is LimitName =>
  Object.hasOwn(limits, name);

/** Returns the number of edit calls of a step for which `maxTotalChunks` is not set. */
export const defaultChunks = (
  { bounds: { leastChunks, chunks_perFile } }: Rules,
  files: number,
): number => Math.max(leastChunks, chunks_perFile * files);

/** Returns the money of a run for which `budget_usd` is not set. Null: no price is known. */
export const defaultBudget_usd = (
  { budgetEstimate_times, leastBudget_usd }: Rules['bounds'],
  estimate_usd: number | null,
): number | null =>
  estimate_usd === null ? null : Math.max(leastBudget_usd, budgetEstimate_times * estimate_usd);

/** Shortens a text of others on its way into the state. */
export const cut = ({ bounds: { reason_chars } }: Rules, text: string): string =>
  text.length <= reason_chars ? text : `${text.slice(0, reason_chars - 1)}…`;
