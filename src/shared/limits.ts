/**
 * Every limit of Emend, in one place: name (its unit last), default, and what it limits. `emend.yaml` (`limits:`), a job's front
 * matter and `--set LIMIT=VALUE` all use these names. `null` as a default means: no limit unless somebody sets one.
 */
export interface LimitSpec {
  readonly default: number | null;
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  readonly what: string;
}

const limit = (
  value: number | null,
  unit: string,
  [min, max]: readonly [number, number],
  what: string,
): LimitSpec => ({
  default: value,
  unit,
  min,
  max,
  what,
});

const inUnit =
  (unit: string) =>
  (value: number, range: readonly [number, number], what: string): LimitSpec =>
    limit(value, unit, range, what);
const ms = inUnit('ms');
const bytes = inUnit('bytes');

const KiB = 1024;
const MiB = 1024 * KiB;

/** Limits that a job or `emend.yaml` may set; resolved once by the first preflight and kept in the run. */
export const LIMITS = {
  maxLinesFullFile: limit(
    500,
    'lines',
    [0, 1_000_000],
    'files up to this length are answered whole (bucket A)',
  ),
  maxBytesFullFile: bytes(
    32 * KiB,
    [0, 16 * MiB],
    'files up to this size are answered whole (bucket A)',
  ),
  maxLinesDiff: limit(
    1000,
    'lines',
    [0, 10_000_000],
    'files up to this length are answered as a diff (bucket B)',
  ),
  maxBytesDiff: bytes(
    64 * KiB,
    [0, 64 * MiB],
    'files up to this size are answered as a diff (bucket B)',
  ),
  maxFilesBeforeSplit: limit(
    1,
    'files',
    [1, 1000],
    'more target files than this are split: one model call a file',
  ),
  maxFilesPerStep: limit(
    1000,
    'files',
    [1, 1000],
    'more target files than this are refused before anything is paid',
  ),
  maxPickedFiles: limit(
    10,
    'files',
    [1, 60],
    'where a model picks more files than this, a person is asked',
  ),
  maxAttemptsPerFile: limit(
    2,
    'attempts',
    [1, 20],
    'invalid and refused answers per file and fallback',
  ),
  maxCallsPerFile: limit(
    8,
    'answers',
    [1, 100],
    'answers for a file, including truncated ones, before a decision is needed',
  ),
  maxTotalChunks: limit(
    null,
    'edit calls',
    [1, 10_000],
    'edit calls of a step; default max(10, 2 x files)',
  ),
  maxUnknownCalls: limit(
    2,
    'calls',
    [1, 20],
    'calls interrupted by a crash, a dropped connection or silence before a decision is needed',
  ),
  modelOutage_s: limit(
    1_800,
    'seconds',
    [0, 604_800],
    'total wait for a model that is down before a decision is needed',
  ),
  concurrency: limit(1, 'chunks', [1, 32], 'chunks in progress at a time'),
  outputBudget_tokens: limit(
    16_384,
    'tokens',
    [16, 1_000_000],
    'output limit of the first call for a chunk',
  ),
  maxOutputBudget_tokens: limit(
    65_536,
    'tokens',
    [16, 1_000_000],
    'output limit that fallbacks double up to',
  ),
  inputBudget_tokens: limit(
    150_000,
    'tokens',
    [256, 10_000_000],
    'estimated input tokens of one call',
  ),
  budget_tokens: limit(null, 'tokens', [1, 1e12], 'input and output tokens of the run'),
  budget_usd: limit(
    null,
    'US dollars',
    [0, 1e9],
    'money of the run, by the price table; default 10 x estimate, at least 1, if the price is known',
  ),
  budget_calls: limit(null, 'calls', [1, 1_000_000], 'model calls of the run'),
  wallClock_s: limit(null, 'seconds', [1, 1e9], 'time of the run, excluding pauses'),
  maxFailedVerifications: limit(
    3,
    'verifications',
    [1, 20],
    'failed verifications before a decision is needed',
  ),
  testTimeout_s: limit(600, 'seconds', [1, 86_400], 'time of one verification'),
  baselineWait_s: limit(
    60,
    'seconds',
    [0, 86_400],
    'the first call waits this long for the tests of the base',
  ),
  testOutput_bytes: bytes(
    1 * MiB,
    [1 * KiB, 64 * MiB],
    'kept output of one verification (its head and its end)',
  ),
  maxFile_bytes: bytes(64 * MiB, [1, 512 * MiB], 'a target file'),
  maxContextFile_bytes: bytes(1 * MiB, [1, 64 * MiB], 'a context or rules file'),
  maxAnswer_bytes: bytes(16 * MiB, [1 * KiB, 256 * MiB], 'one model answer'),
  maxCallLog_bytes: bytes(
    64 * MiB,
    [4 * KiB, 1024 * MiB],
    "one model call's log: its raw events, including thinking",
  ),
} as const satisfies Record<string, LimitSpec>;

export type LimitName = keyof typeof LIMITS;
/** Tests that fail on the base: a person is asked, they do not count, the change must fix them, no one looks. */
export const BASELINES = ['ask', 'known', 'fix', 'off'] as const;
export type Baseline = (typeof BASELINES)[number];
/** Given on the command line, over job, plan and `emend.yaml`. Null: a budget that cannot be counted any more. */
export interface Overrides extends Readonly<Partial<Limits>> {
  readonly requireCompleteSentinel?: boolean;
}
/** Resolved limits: a number, or null where there is no limit. */
export type Limits = Record<LimitName, number | null>;

/**
 * Timing and worker settings, not of a job: time-outs, locks, waits. Set by `EMEND_<NAME>` in a worker's or client's environment
 * (upper case), so that crash tests run with 1 to 3 s where people run with the defaults.
 */
export const TIMINGS = {
  heartbeat_ms: ms(20_000, [50, 600_000], 'a model call heartbeats this often'),
  heartbeatTimeout_ms: ms(
    60_000,
    [200, 3_600_000],
    'a model call without a heartbeat counts as dead',
  ),
  modelCallTimeout_ms: ms(
    3_600_000,
    [1000, 86_400_000],
    'one attempt of a model call, start to close',
  ),
  modelCallTotal_ms: ms(
    4 * 3_600_000,
    [1000, 7 * 86_400_000],
    'all attempts of a model call, schedule to close',
  ),
  modelCallAttempts: limit(
    5,
    'attempts',
    [1, 100],
    "attempts of a model call (after a worker's death, a time-out, a full disk) before a decision is needed",
  ),
  outageWait_ms: ms(
    10_000,
    [10, 600_000],
    'first wait for a model that is down; doubles with each try',
  ),
  outageMaxWait_ms: ms(
    300_000,
    [10, 3_600_000],
    'longest wait for a model that is down, or its longer retry-after',
  ),
  streamIdle_ms: ms(120_000, [100, 3_600_000], 'silence in a stream before the call is abandoned'),
  callOwner_ms: ms(
    30_000,
    [200, 3_600_000],
    'an open call belongs to its owner this long after its last sign of life',
  ),
  hostActivityTimeout_ms: ms(
    600_000,
    [1000, 86_400_000],
    'one attempt of host activities, the time of commands not counted',
  ),
  hostHeartbeatTimeout_ms: ms(
    30_000,
    [200, 3_600_000],
    'host activities without a heartbeat count as dead',
  ),
  commandHeartbeatTimeout_ms: ms(
    60_000,
    [200, 3_600_000],
    'commands of runs (tests, hooks, formatters) without a heartbeat count as dead; a cancel reaches them within this time',
  ),
  hostActivityAttempts: limit(
    10,
    'attempts',
    [1, 1000],
    'attempts of host activities before a decision is needed',
  ),
  retryInitial_ms: ms(1000, [10, 600_000], 'first wait before an activity is tried again'),
  retryMaximum_ms: ms(60_000, [10, 3_600_000], 'longest wait before an activity is tried again'),
  scheduleToStart_ms: ms(
    600_000,
    [500, 86_400_000],
    'a host that takes no work this long is unreachable; while a command waits the run looks for its host this often',
  ),
  checkoutWait_ms: ms(
    5_000,
    [100, 600_000],
    'work on a repository waits this long for the host that has its checkout',
  ),
  lockPoll_ms: ms(
    2_000,
    [50, 600_000],
    'wait before asking again for a busy workspace (doubles up to 15 times this, then grows with the tries)',
  ),
  acceptWait_ms: ms(
    3_000,
    [100, 60_000],
    'wait for a worker to accept a decision before it goes as a signal',
  ),
  stickyWait_ms: ms(
    10_000,
    [100, 600_000],
    'a workflow task waits this long for the worker that has the run cached',
  ),
  shutdownGrace_ms: ms(
    30_000,
    [0, 3_600_000],
    'a stopping worker lets running activities finish this long',
  ),
  modelCalls_perSecond: limit(
    20,
    'calls a second',
    [0.01, 10_000],
    'model calls that all workers together start',
  ),
  modelCalls_atOnce: limit(20, 'calls', [1, 1_000], 'model calls in progress in one worker'),
  secondScore_ms: ms(60_000, [100, 3_600_000], "a phase's second score is waited for this long"),
  planRun_groups: limit(
    100,
    'groups',
    [1, 10_000],
    'a plan continues in a new run after this many phases or waves',
  ),
  connect_ms: ms(5_000, [100, 600_000], 'wait for the Temporal server to answer a new connection'),
} as const satisfies Record<string, LimitSpec>;

export type TimingName = keyof typeof TIMINGS;
/** Resolved timings; every one is a number. */
export type Timings = Record<TimingName, number>;

/** Bounds that nobody sets: they keep history, payloads, pages and logs within what the servers take. */
export const BOUNDS = {
  // A larger payload becomes a blob, and the history holds a reference.
  inlinePayload_bytes: 16_384,
  // A larger payload fails without a retry.
  payload_bytes: 32 * MiB,
  // A step's usage is counted from the journal within this time,
  countTotal_ms: 60_000,
  // in so many attempts.
  countAttempts: 2,
  // A run that makes so many moves in a row without waiting for anything pauses: it would hold up its worker, and all runs on that.
  idleMoves: 100,
  // Of a reason, message or failure this much goes into the history.
  reason_chars: 1_000,
  // A note of a person.
  note_bytes: 64 * KiB,
  // Changes that one answer chooses.
  selectedChanges: 20_000,
  // The newest events of a run stay in its state; the archive has all of them.
  eventsKept: 5_000,
  // Signals that did not count, told as events and kept; more are counted.
  ignoredKept: 20,
  // A run goes on in a new one before the server takes no more signals for it (10,000), after a pause in them if there is one.
  runSignals: 8_000,
  // Such a pause.
  signalPause_ms: 1_000,
  // Requests that were counted, by their ids: one of these counts no second time.
  requestsKept: 200,
  // Edit calls of a step where maxTotalChunks is not set: so many for each file,
  chunks_perFile: 2,
  // and never fewer than this.
  leastChunks: 10,
  // Tests that failed in so many phases are a pattern of the plan, not of one phase.
  patternPhases: 3,
  // So many failures in a row of one phase: a report on them precedes the next attempt. Any further failure leads to a replan.
  debugFailures: 2,
  // So many files failed for the same reason while the model edited none: the run asks whether it should go on.
  sameFailures: 3,
  // A run that has used so many times its estimate asks whether it should go on.
  overEstimate_times: 3,
  // It does not ask below this much money, which is a few repeated calls of a small job,
  leastOverEstimate_usd: 0.25,
  // or below so many tokens if no price is known.
  leastOverEstimate_tokens: 50_000,
  // Money of a run if budget_usd is not set: so many times its estimate,
  budgetEstimate_times: 10,
  // and never less than this.
  leastBudget_usd: 1,
  // Files in a run's details in the Temporal UI.
  detailsFiles: 30,
  // Edits of one answer in JSON.
  maxAnswer_edits: 100_000,
  // What is made and dropped at once. V8's own 48 hold more garbage than the engine needs memory for a file of 24 MB; 3 cost no time.
  editYoung_MiB: 3,
  // V8 collects a worker's heap once it has grown by so much. By itself it waits until a long plan's worker has 600 MB.
  heapGrowing_percent: 50,
  // So often a model may ask to be shown more of a file, and for so many lines each time.
  needsLinesAsked: 2,
  // Reports of work out of scope that wait for the next phase; a person's words in each.
  driftsKept: 20,
  // Digits of a run's key that may be typed, at least;
  runPrefix_chars: 4,
  // digits that are shown.
  shownKey_chars: 8,
  // A session of the review page ends when it was not used for this long.
  webSession_ms: 12 * 3_600_000,
  // A server that went away is looked for again this often while somebody watches.
  webAgain_ms: 3_000,
} as const;
