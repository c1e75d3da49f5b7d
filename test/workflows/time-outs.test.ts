/** What is started in an activity has a limit of its own that ends first: every limit that is named, against the activities in which it runs. */
import { TIMES } from '../../src/stores/s3/objects.js';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ACTIVITIES, type ActivityName } from '../../src/shared/activities.js';
import { EDIT_BOUNDS, MODEL_BOUNDS, STORE_BOUNDS } from '../../src/shared/bounds.js';
import { BOUNDS, LIMITS, TIMINGS, type Timings } from '../../src/shared/limits.js';
import { currentRules } from '../../src/shared/rules.js';
import { resolveTimings, timingVariable } from '../../src/temporal/settings.js';
import { timeFor, withTimeLimit } from '../../src/system/time-limit.js';
import { optionsOf } from '../../src/workflows/frame/call-options.js';
import { GIT_MS } from '../../src/workspace/git/git.js';
import { REVERTED_WAIT_MS } from '../../src/workspace/git/commit-branch.js';
import { SHOW_QUERY_MS } from '../../src/client/runs/show.js';
import { CALL_MS } from '../../src/client/gateway.js';
import { COUNT_WAIT_MS } from '../../src/activities/step/estimate.js';
import { KEYGEN_MS } from '../../src/system/ssh-signature.js';
import { EDIT_TIME_MS } from '../../src/activities/frame/edit-worker.js';
import { SYNTAX_PARSE_MS } from '../../src/syntax/load.js';

const DEFAULTS = resolveTimings({});
const SOME_FILES = 7;
const wholeOf = (activity: ActivityName, timings: Timings, timeout_s: number): number => {
  const { role } = ACTIVITIES[activity];
  const run = { timings, queues: { workflow: 'w', model: 'm', host: 'h' }, rules: currentRules() };
  return Number(
    optionsOf(activity, run, { role, files: SOME_FILES, timeout_s }).startToCloseTimeout,
  );
};

const [hook_s, format_s, worktreeAdd_s] = [
  STORE_BOUNDS.hook_s,
  STORE_BOUNDS.format_s,
  STORE_BOUNDS.worktreeAdd_s,
];
const [git_ms, attemptPatience_ms, revertedWait_ms] = [
  GIT_MS,
  STORE_BOUNDS.attemptPatience_ms,
  REVERTED_WAIT_MS,
];
/** Per activity: its start to close, and what may run in it, one after the other, in ms. */
const activities = (
  timings: Timings,
  test_s: number,
): Record<string, readonly [number, Record<string, number>]> => {
  const whole = (activity: ActivityName): number => wholeOf(activity, timings, test_s);
  const own = { git_ms: Math.min(git_ms, timings.hostActivityTimeout_ms / 2) };
  const named = (names: readonly ActivityName[], parts: Record<string, number>) =>
    Object.fromEntries(names.map((name) => [name, [whole(name), parts] as const]));
  const hooks = { ...own, hook_s: 2 * hook_s * 1000 };
  const testTimeout_s = test_s * 1000;
  return {
    'buildProposal, all files one after the other': [
      whole('buildProposal'),
      { ...own, format_s: SOME_FILES * format_s * 1000 },
    ],
    'runTests: the tests, and once more without the sandbox': [
      whole('runTests'),
      { ...own, testTimeout_s: 2 * testTimeout_s },
    ],
    commit: [whole('commit'), hooks],
    markPhase: [whole('markPhase'), hooks],
    applyReplan: [whole('applyReplan'), hooks],
    'prepareWorktree: checkout and worktree.setup': [
      whole('prepareWorktree'),
      { ...own, worktreeAdd_s: worktreeAdd_s * 1000, testTimeout_s },
    ],
    awaitChild: [whole('awaitChild'), { half: timings.hostActivityTimeout_ms / 2 }],
    ...(timings === DEFAULTS
      ? {
          ...named(['applyProposal', 'rollBack', 'mergePhase'], {
            ...own,
            attemptPatience_ms,
            revertedWait_ms,
          }),
          ...named(['verifyDecision'], { ...own, keygen_ms: 2 * KEYGEN_MS }),
          ...named(['preflight', 'rebaseProposal'], { ...own, editTime_ms: EDIT_TIME_MS }),
          ...named(
            ['pickFiles', 'writeBrief', 'proposeEdit', 'scorePhase', 'debugPhase', 'proposeReplan'],
            {
              streamIdle_ms: timings.streamIdle_ms,
              editTime_ms: EDIT_TIME_MS,
            },
          ),
        }
      : {}),
  };
};

const variants: readonly (readonly [string, Timings, number])[] = [
  ['the defaults', DEFAULTS, LIMITS.testTimeout_s.default ?? 0],
  ['the longest tests', DEFAULTS, LIMITS.testTimeout_s.max],
  ...([TIMINGS.hostActivityTimeout_ms.min, TIMINGS.hostActivityTimeout_ms.max] as const).map(
    (value) =>
      [
        `hostActivityTimeout_ms ${value}`,
        resolveTimings({ [timingVariable('hostActivityTimeout_ms')]: String(value) }),
        600,
      ] as const,
  ),
];
test.each(variants)('%s: what runs in an activity ends before it does', (_, timings, test_s) => {
  const late = Object.entries(activities(timings, test_s)).filter(
    ([, [whole, parts]]) => Object.values(parts).reduce((sum, part) => sum + part, 0) >= whole,
  );
  expect(late).toEqual([]);
});

test('heartbeats, attempts and totals are longer than what they are of', () => {
  const t = DEFAULTS;
  expect(t.heartbeat_ms).toBeLessThan(t.heartbeatTimeout_ms);
  expect(t.commandHeartbeatTimeout_ms).toBeLessThan(t.hostActivityTimeout_ms);
  expect(t.hostHeartbeatTimeout_ms).toBeLessThan(t.hostActivityTimeout_ms);
  expect(t.modelCallTimeout_ms).toBeLessThan(t.modelCallTotal_ms);
  expect(COUNT_WAIT_MS).toBeLessThan(BOUNDS.countTotal_ms);
  expect(SYNTAX_PARSE_MS).toBeLessThan(EDIT_TIME_MS);
});

test('where an activity has less time than that, what is started in it has what is left', async () => {
  for (const whole_ms of [200, 1_000, 600_000])
    await withTimeLimit(whole_ms, () => {
      const left = timeFor(git_ms * 10);
      expect(left).toBeLessThan(whole_ms);
      expect(left).toBeGreaterThan(whole_ms / 2);
      return Promise.resolve();
    });
  expect(timeFor(git_ms)).toBe(git_ms);
});

/** Compared above. */
const INNER = [
  'git_ms',
  'hook_s',
  'format_s',
  'view_s',
  'worktreeAdd_s',
  'attemptPatience_ms',
  'revertedWait_ms',
  'editTime_ms',
  'keygen_ms',
];
/** Not limits of work in an activity, and why. */
const OTHERS: Record<string, readonly string[]> = {
  'a wait of the workflow itself': ['signalPause_ms'],
  'how often something is looked at': [
    'attemptPoll_ms',
    'look_ms',
    'wake_ms',
    'placePause_ms',
    'lockedPoll_ms',
    'countPoll_ms',
    'runningPoll_ms',
    'watch_ms',
    'half_ms',
    'flush_ms',
    'removeWait_ms',
  ],
  "a part of a command's own time, while it uses the network": [
    'lookup_ms',
    'header_ms',
    'idle_ms',
  ],
  'the end of what was ended, kept back of each activity': [
    'killGrace_ms',
    'activityEnd_ms',
    'drain_ms',
    'replacedEnd_ms',
  ],
  'once a process, and known from then on': [
    'pip_ms',
    'tried_ms',
    'noneKnown_ms',
    'probe_s',
    'ps_ms',
    'lsof_ms',
  ],
  'a part of what a git process may take, compared by `worktreeAdd_s`': ['stalled_s'],
  'a part of what an activity may take: a wait that leaves time for the edit after it': [
    'editTurn_ms',
  ],
  'ends a git process that waits before its own time is over': ['patience_ms'],
  'how long something read is used again': ['remembered_ms'],
  'ages of files, and how far ahead a time may be': [
    'clock_ms',
    'foreignScratch_ms',
    'checkpointFresh_ms',
    'day_ms',
    'lock_ms',
    'ahead_ms',
    'foreignLock_ms',
    'oldMark_ms',
    'announcementsKept_ms',
    'announced_ms',
    'settled_ms',
    'clockSkew_ms',
    'step_ms',
  ],
  'the wait before the next attempt, which no activity is held for': ['maxRetryAfter_ms'],
  'never ends a call, because the time without a byte does': ['sdkTimeout_ms'],
  'compared with their own wholes': [
    'leastBeat_ms',
    'countWait_ms',
    'countTotal_ms',
    'syntaxParse_ms',
  ],
  'a part of what an activity may take, and done without': ['grep_ms', 'log_ms', 'signatures_ms'],
  'a request to a bucket, compared with an activity below': [
    'connect_ms',
    'answer_ms',
    'try_ms',
    'pause_ms',
  ],
  'said of a store by `emend doctor`, and when the thread pool makes calls': [
    'slow_ms',
    'turn_ms',
    'pooled_ms',
    'mounts_ms',
  ],
  'the end of another process, asked for on the command line': ['endPoll_ms', 'killed_ms'],
};
/** Those of several files stand in shared, those of one at its head, in capitals. The page and talks with a server hold up no activity. */
const ROOMS = [
  'activities',
  'edits',
  'model',
  'workspace',
  'stores',
  'syntax',
  'system',
  'documents',
];
const BESIDE =
  /^(?:\/\/ bound: .*\n(?:export )?const ([A-Z_]+_M?S) =|(?:export )?const ([A-Z_]+_M?S) = .*\/\/ bound)/gm;
const named = [
  ...[STORE_BOUNDS, MODEL_BOUNDS, EDIT_BOUNDS, BOUNDS].flatMap((each) => Object.keys(each)),
  ...ROOMS.flatMap((room) =>
    readdirSync(`src/${room}`, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .flatMap((path) => [...readFileSync(`src/${room}/${path}`, 'utf8').matchAll(BESIDE)])
      .map(([, above, beside]) => above ?? beside ?? ''),
  ),
];
const alike = (name: string): string => name.replaceAll('_', '').toLowerCase();
test('every named limit of time is compared, or has a reason', () => {
  const known = [...INNER, ...Object.values(OTHERS).flat()].map(alike);
  expect(
    named.filter(
      (name) => /_m?s$/i.test(name) && !name.startsWith('web') && !known.includes(alike(name)),
    ),
  ).toEqual([]);
  expect(known.filter((name) => !named.map(alike).includes(name))).toEqual([]);
  // Waits for a server answer in seconds; nothing of them holds an activity longer.
  const { tries, try_ms, pause_ms } = TIMES;
  const bucket_ms = tries * try_ms + 1.5 * pause_ms * (4 ** (tries - 1) - 1);
  for (const ms of [CALL_MS, SHOW_QUERY_MS, bucket_ms])
    expect(ms).toBeLessThan(DEFAULTS.hostActivityTimeout_ms);
});
