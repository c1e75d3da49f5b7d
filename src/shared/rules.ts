/**
 * What runs go by whose input has no rules, and of a name that their rules lack, because it came after they were started: each as it was
 * when it came. ◆ A line is added with each new name and never changed.
 */
import { SHOWN_BOUNDS, STORE_BOUNDS } from './bounds.js';
import { ANSWERS_BY_REASON, WHOLE_ANSWERS, type Answer, type PauseReason } from './decisions.js';
import { BOUNDS, LIMITS, type LimitName, type LimitSpec } from './limits.js';

const PER_FILE = ['retry', 'manual', 'skip'] as const;
const CONFLICT = ['rebase', 'regenerate', 'take_theirs'] as const;
const MiB = 1024 * 1024;

export const FIRST_RULES: Rules = {
  bounds: {
    reason_chars: 1_000,
    note_bytes: 65_536,
    selectedChanges: 20_000,
    requestsKept: 200,
    eventsKept: 5_000,
    ignoredKept: 50,
    driftsKept: 20,
    shownKey_chars: 8,
    request_chars: 120,
    signal_chars: 80,
    leastChunks: 10,
    chunks_perFile: 2,
    tallyTotal_ms: 60_000,
    tallyAttempts: 2,
    idleMoves: 100,
    runSignals: 8_000,
    signalPause_ms: 1_000,
    hook_s: 600,
    format_s: 60,
    worktreeAdd_s: 1_800,
  },
  limits: {
    maxLinesFullFile: { unit: 'lines', min: 0, max: 1_000_000 },
    maxBytesFullFile: { unit: 'bytes', min: 0, max: 16 * MiB },
    maxLinesDiff: { unit: 'lines', min: 0, max: 10_000_000 },
    maxBytesDiff: { unit: 'bytes', min: 0, max: 64 * MiB },
    maxFilesBeforeSplit: { unit: 'files', min: 1, max: 1000 },
    maxFilesPerStep: { unit: 'files', min: 1, max: 1000 },
    maxAttemptsPerFile: { unit: 'attempts', min: 1, max: 20 },
    maxTotalChunks: { unit: 'edit calls', min: 1, max: 10_000 },
    maxUnknownCalls: { unit: 'calls', min: 1, max: 20 },
    concurrency: { unit: 'chunks', min: 1, max: 32 },
    outputBudget_tokens: { unit: 'tokens', min: 16, max: 1_000_000 },
    maxOutputBudget_tokens: { unit: 'tokens', min: 16, max: 1_000_000 },
    inputBudget_tokens: { unit: 'tokens', min: 256, max: 10_000_000 },
    budget_tokens: { unit: 'tokens', min: 1, max: 1e12 },
    budget_usd: { unit: 'US dollars', min: 0, max: 1e9 },
    budget_calls: { unit: 'calls', min: 1, max: 1_000_000 },
    wallClock_s: { unit: 'seconds', min: 1, max: 1e9 },
    maxFailedVerifications: { unit: 'verifications', min: 1, max: 20 },
    testTimeout_s: { unit: 'seconds', min: 1, max: 86_400 },
    testOutput_bytes: { unit: 'bytes', min: 1024, max: 64 * MiB },
    maxFile_bytes: { unit: 'bytes', min: 1, max: 512 * MiB },
    maxContextFile_bytes: { unit: 'bytes', min: 1, max: 64 * MiB },
    maxAnswer_bytes: { unit: 'bytes', min: 1024, max: 256 * MiB },
    maxCallLog_bytes: { unit: 'bytes', min: 4096, max: 1024 * MiB },
  },
  answers: {
    approval: ['approve', 'skip', 'revise', 'select'],
    truncation: PER_FILE,
    unmarked: PER_FILE,
    declined: PER_FILE,
    call_lost: PER_FILE,
    attempts_exhausted: PER_FILE,
    chunk_limit: PER_FILE,
    budget: PER_FILE,
    estimate: PER_FILE,
    conflict: CONFLICT,
    hook_changed: CONFLICT,
    tests_failed: ['revise', 'keep', 'manual', 'skip'],
    test_command: ['run', 'other', 'no_tests'],
    prompt_cut: PER_FILE,
    model_unavailable: PER_FILE,
    engine_failed: PER_FILE,
    workspace_unreachable: ['wait'],
    blob_lost: ['regenerate'],
    expansion: ['expand', 'continue'],
    replan_limit: ['force', 'continue', 'skip'],
    plan_changed: ['take_new', 'keep_old'],
    merge_conflict: ['regenerate', 'manual', 'skip'],
    resume: ['resume', 'restart'],
    version_unknown: ['wait'],
    cancelled: ['retry', 'skip'],
  },
  wholeAnswers: [
    ...(['abort', 'keep', 'run', 'other', 'no_tests', 'wait', 'expand', 'continue', 'force'] as const),
    ...(['take_new', 'keep_old', 'resume', 'restart'] as const),
  ],
};

// ◆ What a replay goes by. The client freezes these rules in a run's input, so that a history replays by them whatever a later version
// has; workflows and reducers read no limit, bound or table of answers elsewhere (a dependency rule refuses it).

const BOUND_NAMES = [
  ...(['reason_chars', 'note_bytes', 'selectedChanges', 'requestsKept', 'eventsKept', 'ignoredKept'] as const),
  ...([
    'driftsKept',
    'shownKey_chars',
    'leastChunks',
    'chunks_perFile',
    'tallyTotal_ms',
    'tallyAttempts',
    'idleMoves',
    'runSignals',
    'signalPause_ms',
  ] as const),
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
}
/** A run's state, or as much of it. */
export interface Ruled {
  readonly input: { readonly rules?: Rules };
}

const pick = <N extends string>(from: Readonly<Record<N, number>>, names: readonly N[]): Record<N, number> =>
  Object.fromEntries(names.map((name) => [name, from[name]])) as Record<N, number>;

/** For a run that is started now. */
export const currentRules = (): Rules => ({
  bounds: { ...pick(BOUNDS, BOUND_NAMES), ...pick(SHOWN_BOUNDS, SHOWN_NAMES), ...pick(STORE_BOUNDS, STORE_NAMES) },
  limits: Object.fromEntries(Object.entries(LIMITS).map(([name, { unit, min, max }]) => [name, { unit, min, max }])),
  answers: ANSWERS_BY_REASON,
  wholeAnswers: WHOLE_ANSWERS,
});

export const rulesOf = ({ input }: Ruled): Rules => input.rules ?? FIRST_RULES;
/** A run's own rules say nothing of a bound or a reason that came after it was started: the frozen table has each as it came. */
export const boundsOf = (ruled: Ruled): Rules['bounds'] => ({ ...FIRST_RULES.bounds, ...ruled.input.rules?.bounds });
export const answersTo = (ruled: Ruled, reason: PauseReason): readonly Answer[] =>
  ruled.input.rules?.answers[reason] ?? FIRST_RULES.answers[reason];

export const isLimitName = (ruled: Ruled, name: string): name is LimitName =>
  Object.hasOwn(rulesOf(ruled).limits, name);

/** Edit calls of a step where `maxTotalChunks` is not set. */
export const defaultChunks = (state: Ruled & { readonly files: readonly unknown[] }): number => {
  const { leastChunks, chunks_perFile } = boundsOf(state);
  return Math.max(leastChunks, chunks_perFile * state.files.length);
};

/** Words of others on their way into the state. */
export const cut = (ruled: Ruled, text: string): string => {
  const { reason_chars } = boundsOf(ruled);
  return text.length <= reason_chars ? text : `${text.slice(0, reason_chars - 1)}…`;
};
