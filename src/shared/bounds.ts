/**
 * Inner bounds: what nobody sets, but work, waits, memory and messages stay within. Limits that people set and those of history and
 * payloads are in limits.ts; test/structure refuses a bound that is named elsewhere. Units end the names; without one it is a count.
 */

/** Numbers, not literals: what is compared with them is no constant. */
const bounds = <Name extends string>(
  values: Record<Name, number>,
): Readonly<Record<Name, number>> => values;

/** Files, git, locks, transactions, processes of this machine. */
export const STORE_BOUNDS = bounds({
  // A target: the most that maxFile_bytes may say.
  target_bytes: 512 * 1024 * 1024,
  // Another attempt's end is looked for this often.
  attemptPoll_ms: 50,
  // A live attempt of the same application is waited for this long.
  attemptPatience_ms: 10_000,
  // One commit hook; a commit runs two of them at most.
  hook_s: 600,
  // The formatter, on one file.
  format_s: 60,
  // Kept output of a commit hook.
  hookOutput_bytes: 16 * 1024,
  // A process that is told to end gets this long before it is killed.
  killGrace_ms: 2_000,
  // A process that left the group may hold the pipes open; its output is not waited for longer than this.
  drain_ms: 1_000,
  // A person who saves the plan in the same moment is given way to; each further time the mark is worked out anew.
  markTries: 5,
  // A checkout of a large repository; longer than this is a disk that does not answer.
  worktreeAdd_s: 1_800,
});

/** What goes into prompts beside the budgets, and how calls are looked at. */
export const MODEL_BOUNDS = bounds({
  // After a refused answer, or tests that failed, the next call shows this much of the reasons.
  reasons_bytes: 16 * 1024,
  // A debugging report and a replan show this much of each failed test run.
  phaseOutput_bytes: 24 * 1024,
  // Of a phase's failed tests its next attempt is shown this much, and as much of the edit that failed.
  phaseFailure_bytes: 8_000,
  // Calls for one answer: the first, and one more that is told why the first could not be used. ◆ Part of the number of the regeneration, and so of call keys: never changed.
  adviceCalls: 2,
  // Answers are a score, a page or a few tasks.
  adviceOutput_tokens: 8_192,
});

/** What is shown to people; the rest is counted or cut. */
export const SHOWN_BOUNDS = bounds({
  // What somebody sent, in a message about it.
  request_chars: 120,
  // What a signal carried, in a message about it.
  signal_chars: 80,
});

/** The edit engine's bounds on work and on what it tells. */
export const EDIT_BOUNDS = bounds({
  // `1200kef| ` and a line end, and as much for a plain line: estimates err low for source code.
  lineHead_chars: 14,
});
