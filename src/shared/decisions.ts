/** Decision points: why a run pauses, which answers it takes, and the words on the wire. */
import type { LimitName } from './limits.js';
import type { StepKey } from './refs.js';

export const ANSWERS_BY_REASON = {
  approval: ['approve', 'skip', 'revise'],
  truncation: ['retry', 'manual', 'skip'],
  unmarked: ['retry', 'manual', 'skip'],
  declined: ['retry', 'manual', 'skip'],
  call_lost: ['retry', 'manual', 'skip'],
  attempts_exhausted: ['retry', 'manual', 'skip'],
  chunk_limit: ['retry', 'manual', 'skip'],
  budget: ['retry', 'manual', 'skip'],
  estimate: ['retry', 'manual', 'skip'],
  conflict: ['rebase', 'regenerate', 'take_theirs'],
  hook_changed: ['rebase', 'regenerate', 'take_theirs'],
  tests_failed: ['revise', 'keep', 'manual', 'skip'],
  test_command: ['run', 'other', 'no_tests'],
  prompt_cut: ['retry', 'manual', 'skip'],
  model_unavailable: ['retry', 'manual', 'skip'],
  engine_failed: ['retry', 'manual', 'skip'],
  workspace_unreachable: ['wait'],
  blob_lost: ['regenerate'],
} as const;

/** Why a run waits for a person (wire names, docs/decision-points.md). */
export type PauseReason = keyof typeof ANSWERS_BY_REASON;
export type Answer = (typeof ANSWERS_BY_REASON)[PauseReason][number] | 'abort';

/** What each answer does, in a person's words; shown by every face. */
export const ANSWER_MEANS: Record<Answer, string> = {
  approve: 'apply the proposed change',
  skip: 'leave these files as they are',
  revise: 'ask again, with your note and the rejected edit in the prompt',
  retry: 'try again; --set LIMIT=VALUE raises a limit, --note adds a hint',
  manual: 'you changed the files yourself: take them as they are now, verify, commit',
  rebase: 'carry the proposal over to the files as they are now, then review again',
  regenerate: 'ask again from the files as they are now',
  take_theirs: 'keep the files as they are now and leave these files out',
  keep: 'apply the last proposal all the same; the commit is marked [INCOMPLETE]',
  run: 'run the command that was found',
  other: 'run another command: --set command="…"',
  no_tests: 'run no tests',
  wait: 'go on waiting for the host',
  abort: 'end the run; what was applied and not committed is rolled back',
};

/** Answers that settle every file of a decision at once; the others may name files. */
export const WHOLE_ANSWERS: readonly Answer[] = ['abort', 'keep', 'run', 'other', 'no_tests', 'wait'];

/** A file that a decision is about, and why. */
export interface DecisionFile {
  readonly path: string;
  readonly reason: PauseReason;
  readonly message: string;
}

export interface DecisionPoint {
  /** `<n>-<first 8 of stepKey>[-<first 8 of the proposal's hash>]` */
  readonly id: string;
  readonly n: number;
  readonly reason: PauseReason;
  readonly message: string;
  readonly files: readonly DecisionFile[];
  readonly accepts: readonly Answer[];
  readonly proposalId: string | null;
  /** Answers so far by path; the decision is settled when every file has one. */
  readonly answered: Readonly<Record<string, Answer>>;
  /** Workflow time, ms since the epoch. */
  readonly openedAt: number;
  /** For `test_command`: the command that was found. For limits: the limit that was reached. */
  readonly subject: string | null;
}

export interface Decider {
  /** Who: a login name, or what the caller says. */
  readonly name: string;
  /** From where: `cli`, `web`, `signal`, `policy`. */
  readonly from: string;
}

/** What our faces send, by update `decide` or by the signal of the same name. */
export interface DecisionRequest {
  readonly v: 1;
  readonly decision: string;
  readonly answer: Answer;
  /** Absent: all files of the decision that have no answer yet. */
  readonly files?: readonly string[];
  readonly note?: string;
  /** Limits by name, `model` or `command`. */
  readonly set?: Readonly<Partial<Record<LimitName | 'model' | 'command', number | string>>>;
  /** Names this request through update, fall-back signal and retries: it counts once. */
  readonly requestId: string;
  readonly by: Decider;
}

export type DecideOutcome =
  | { readonly outcome: 'settled'; readonly decision: string; readonly message: string }
  /** Recorded for the named files; the decision still waits for others. */
  | { readonly outcome: 'recorded'; readonly decision: string; readonly message: string }
  | { readonly outcome: 'already_settled'; readonly decision: string; readonly message: string };

export interface SettledDecision {
  readonly id: string;
  readonly n: number;
  readonly reason: PauseReason;
  readonly proposalId: string | null;
  readonly answers: readonly DecisionRecord[];
  readonly openedAt: number;
  readonly settledAt: number;
}
export interface DecisionRecord {
  readonly answer: Answer;
  readonly files: readonly string[];
  readonly note: string | null;
  readonly by: Decider;
  readonly at: number;
  readonly requestId: string;
}

export const decisionId = (n: number, stepKey: StepKey, proposalId: string | null): string =>
  [String(n), stepKey.slice(0, 8), ...(proposalId === null ? [] : [proposalId.slice(0, 8)])].join('-');
