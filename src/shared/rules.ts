/**
 * ◆ What a replay goes by. The client freezes these rules in a run's input, so that a history replays by them whatever a later version
 * has; workflows and reducers read no limit, bound or table of answers elsewhere (a dependency rule refuses it).
 */
import { SHOWN_BOUNDS, STORE_BOUNDS } from './bounds.js';
import { ANSWERS_BY_REASON, WHOLE_ANSWERS, type Answer, type PauseReason } from './decisions.js';
import { BOUNDS, LIMITS, type LimitName, type LimitSpec } from './limits.js';

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

export interface Rules {
  readonly bounds: Readonly<
    Record<(typeof BOUND_NAMES)[number] | (typeof SHOWN_NAMES | typeof STORE_NAMES)[number], number>
  >;
  /** What a decision may set; others are no limits of the run. */
  readonly limits: Readonly<Partial<Record<LimitName, Pick<LimitSpec, 'unit' | 'min' | 'max'>>>>;
  readonly answers: Readonly<Record<PauseReason, readonly Answer[]>>;
  readonly wholeAnswers: readonly Answer[];
  /** The search attributes are cleared when a pause is over: one more action a pause. */
  readonly marksGoingOn?: true;
  /** What the run of a phase used that left no result is counted (`all`: and a plan's own calls): one more activity. */
  readonly countsCutOff?: true | 'all';
  /** How long what follows an earlier attempt took is not known, so that it is not taken for a server that stood still. */
  readonly knowsEarlier?: true;
  /** Of a plan: `--phase` goes by the order of the phases, a person's merge is tested, and a dependency on what is done is none. */
  readonly ordersPhases?: true;
  /** Of a plan: its documents are read again once a person was waited for before a phase: one more activity. */
  readonly readsAfterWaits?: true;
  /** Activities that run inside a workflow task where all roles share its queue; docs/measures.md has the reasons. */
  readonly local?: readonly string[];
}
/** A run's state, or as much of it. */
export interface Ruled {
  readonly input: { readonly rules: Rules };
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
  marksGoingOn: true,
  countsCutOff: 'all',
  knowsEarlier: true,
  ordersPhases: true,
  readsAfterWaits: true,
  local: ['buildProposal', 'saveCheckpoint', 'evaluateTriggers'],
});

/** ◆ A name that comes later is missing in the rules of runs that were started before: it is read with what it was until then. */
export const rulesOf = ({ input }: Ruled): Rules => input.rules;
export const boundsOf = ({ input }: Ruled): Rules['bounds'] => input.rules.bounds;
export const answersTo = ({ input }: Ruled, reason: PauseReason): readonly Answer[] =>
  input.rules.answers[reason];

/** A run that began before there was this question knows no answers to it. */
export const knows = ({ input }: Ruled, reason: PauseReason): boolean =>
  Object.hasOwn(input.rules.answers, reason);

export const isLimitName = (ruled: Ruled, name: string): name is LimitName =>
  Object.hasOwn(rulesOf(ruled).limits, name);

/** Edit calls of a step where `maxTotalChunks` is not set. */
export const defaultChunks = (ruled: Ruled, files: number): number => {
  const { leastChunks, chunks_perFile } = boundsOf(ruled);
  return Math.max(leastChunks, chunks_perFile * files);
};

/** Returns the money of a run for which `budget_usd` is not set. Null: no price is known. */
export const defaultBudget_usd = (
  { budgetEstimate_times, leastBudget_usd }: Rules['bounds'],
  estimate_usd: number | null,
): number | null =>
  estimate_usd === null ? null : Math.max(leastBudget_usd, budgetEstimate_times * estimate_usd);

/** Words of others on their way into the state. */
export const cut = (ruled: Ruled, text: string): string => {
  const { reason_chars } = boundsOf(ruled);
  return text.length <= reason_chars ? text : `${text.slice(0, reason_chars - 1)}…`;
};
