/** Decision points: why a run pauses, which answers it takes, and the words on the wire. */
import type { LimitName } from './limits.js';

/** What a decision point will be about. */
export interface Pause {
  readonly reason: PauseReason;
  readonly message: string;
  readonly files: readonly DecisionFile[];
  /** For `test_command`: the command that was found. For limits: the limit that was reached. */
  readonly subject: string | null;
  /** Of `plan_start`; absent: there are none. */
  readonly parts?: readonly StartPart[];
}

export const PART_NAMES = ['expand', 'tests', 'dirty', 'estimate'] as const;
/** What `set` says by its name; several of them with commas between. */
export interface StartPart {
  readonly name: (typeof PART_NAMES)[number];
  readonly message: string;
  /** What may be said; the first holds where nothing is said. */
  readonly accepts: readonly string[];
}

export const ANSWERS_BY_REASON = {
  approval: ['approve', 'skip', 'revise', 'select'],
  truncation: ['retry', 'manual', 'skip', 'approve'],
  unmarked: ['retry', 'manual', 'skip', 'approve'],
  declined: ['retry', 'manual', 'skip', 'approve'],
  call_lost: ['retry', 'manual', 'skip', 'approve'],
  attempts_exhausted: ['retry', 'manual', 'skip', 'approve'],
  chunk_limit: ['retry', 'manual', 'skip'],
  budget: ['retry', 'manual', 'skip'],
  estimate: ['retry', 'manual', 'skip'],
  conflict: ['rebase', 'regenerate', 'take_theirs'],
  hook_changed: ['rebase', 'regenerate', 'take_theirs'],
  tests_failed: ['revise', 'keep', 'manual', 'skip'],
  test_command: ['run', 'other', 'no_tests'],
  prompt_cut: ['retry', 'manual', 'skip', 'approve'],
  model_unavailable: ['retry', 'manual', 'skip', 'approve'],
  engine_failed: ['retry', 'manual', 'skip', 'approve'],
  workspace_unreachable: ['wait', 'move'],
  blob_lost: ['regenerate'],
  expansion: ['expand', 'continue'],
  replan_limit: ['force', 'revise', 'continue', 'skip'],
  plan_changed: ['take_new', 'keep_old'],
  merge_conflict: ['regenerate', 'manual', 'skip'],
  resume: ['resume', 'restart'],
  cancelled: ['retry', 'skip'],
  sandbox_unavailable: ['run_once', 'run_without', 'skip'],
  sandbox_blocks_tests: ['retry', 'run_once', 'run_without', 'skip'],
  tests_changed_files: ['retry', 'adopt', 'skip'],
  secret_found: ['mask', 'send', 'skip'],
  configuration: ['trust', 'retry'],
  plan_start: ['start'],
  baseline: ['fix', 'known', 'retry', 'other', 'no_tests', 'outside'],
  audit: ['keep', 'revise', 'skip'],
  pick: ['take', 'retry', 'skip'],
  nothing_found: ['take', 'retry', 'skip'],
  runaway: ['continue', 'change_model', 'revise', 'skip'],
} as const;

/** Why a run waits for a person (wire names, docs/decision-points.md). */
export type PauseReason = keyof typeof ANSWERS_BY_REASON;
/** Every answer; each decision accepts some of them. */
export type Answer = (typeof ANSWERS_BY_REASON)[PauseReason][number] | 'abort';

/** What each answer does, in a person's words; faces show `meaningOf`. */
export const ANSWER_MEANS: Record<Answer, string> = {
  approve: 'apply the proposed change',
  skip: 'leave these files unchanged',
  revise: 'ask the model again, with your note and the rejected edit in the prompt',
  select: 'accept the hunks you choose and drop the rest; the result is shown again',
  retry: 'try again; --set LIMIT=VALUE raises a limit, --note adds a hint',
  manual: 'accept the files as you edited them; verify and commit',
  rebase: 'rebase the proposal onto the current files, then review again',
  regenerate: 'ask the model again with the current files',
  take_theirs: 'keep the current files and drop the changes to them',
  take: 'edit these files',
  keep: 'accept the change anyway; after a failed verification the commit is marked [INCOMPLETE]',
  run: 'run the command that was found',
  other: 'run another command: --set command="…"',
  no_tests: 'run no tests',
  wait: 'keep waiting for the host',
  move: 'continue in a copy of the workspace, or in a checkout of its repository',
  expand: 'move the text of the phase into its own file, then continue',
  continue: 'continue with the plan unchanged',
  force: 'replan anyway and reset the counter of the phase',
  take_new: 'continue with the current plan document',
  keep_old: 'continue with the plan as read before',
  resume: 'continue where the plan left off',
  restart: 'start with the first phase not marked as done',
  adopt: 'make the files as the tests wrote them a new proposal, shown again',
  run_once: 'run the next commands without a sandbox, once',
  run_without: 'run the commands of this run, and of the rest of its plan, without a sandbox',
  mask: 'send placeholders instead of secrets in this run; the files keep the secrets',
  send: 'send the files of this run unchanged, secrets included',
  trust: 'obey these files as they are now; Emend does not ask again about the same content',
  start: 'start; --set PART=ANSWER for each part (default: its first answer)',
  fix: 'continue: the change must make these tests pass',
  known: 'continue: ignore tests that already failed before the change',
  outside: 'run these tests once without the sandbox, on the unchanged files',
  change_model: 'ask another model from here on, also for the files that failed: --set model=NAME',
  abort: 'end the run and roll back uncommitted changes',
};
/** What a plan asks about its phases. */
const OF_PHASES: Partial<Record<PauseReason, Partial<Record<Answer, string>>>> = {
  replan_limit: { skip: 'skip the phase', revise: 'replan once more, with your note as the goal' },
  merge_conflict: {
    regenerate: 'do the phase again, on top of those that are merged',
    manual: 'the phase is merged by you: test it and mark it',
    skip: 'skip the phase',
  },
  cancelled: { skip: 'skip the phase' },
  engine_failed: {
    manual: 'count it as done by you: the phase, or its mark or merge where that is asked about',
    skip: 'skip the phase, or its mark or merge where that is asked about',
  },
  tests_failed: {
    revise: 'have the plan revised, with your note as the goal',
    continue: 'start the phases although these tests fail',
    manual: 'run the tests again, on the branch as you fixed it',
    skip: 'skip the first of these phases',
    keep: 'continue with what is merged, although its tests fail',
  },
};
/** What a step asks where an answer does something else than elsewhere. */
const BY_REASON: Partial<Record<PauseReason, Partial<Record<Answer, string>>>> = {
  runaway: {
    continue: 'continue as before; the run does not ask for this cause again',
    revise:
      'ask again for the files that failed, then for the others, with your note in each prompt',
    skip: 'stop: ask for no more files; what is done goes to review; if nothing is done, or at an audit, the run ends and restores what it applied',
  },
  baseline: {
    retry:
      'run the tests again on the files without the change, with `sandbox` and `env` as emend.yaml and the job set them now; costs no call',
    other: 'run another command on the files without the change',
    no_tests: 'continue without tests: the change is not tested either',
  },
  configuration: {
    retry: 'read these files again, as you changed or restored them; costs no call',
  },
  sandbox_blocks_tests: {
    retry: 'run the tests or the commit again, with `sandbox` and `env` as they are set now',
    skip: 'leave the files unchanged: roll back what was applied',
  },
  sandbox_unavailable: { skip: 'leave the files unchanged: roll back what was applied' },
  tests_changed_files: {
    retry: 'run the tests again on the change',
    skip: 'roll back what was applied, and end the run',
  },
  tests_failed: {
    keep: 'apply the last proposal without tests; the commit is marked [INCOMPLETE]',
    skip: 'end the run; the files stay unchanged',
  },
  audit: {
    keep: 'accept the change with these findings',
    revise: 'revert the change and ask again, with your note and the findings in the prompt',
    skip: 'leave the files unchanged: roll back what was applied',
  },
  pick: {
    retry: 'look for other files, also by the words of your note; the model is asked again',
    skip: 'leave these files out; if none is left, end the run',
  },
  nothing_found: {
    retry: 'look for other files, also by the words of your note; the model is asked again',
    skip: 'leave these files out; if none is left, end the run',
  },
  estimate: {
    retry: 'start; a limit may be set',
    skip: 'end the run; nothing was paid for',
  },
  secret_found: { skip: 'leave these files unchanged, and send them to no model' },
};
/** Reasons at which `retry` runs commands or reads files again: no model is asked, so it takes neither a limit nor a note. */
const RETRIES_WITHOUT_MODEL: ReadonlySet<PauseReason> = new Set([
  'baseline',
  'configuration',
  'sandbox_blocks_tests',
  'tests_changed_files',
]);
export const takesSettings = ({ reason }: Pick<DecisionPoint, 'reason'>, answer: Answer): boolean =>
  answer === 'retry' && !RETRIES_WITHOUT_MODEL.has(reason);

/** Does the answer mean something else at this decision than elsewhere? */
export const hasOwnMeaning = (
  decision: Pick<DecisionPoint, 'reason' | 'ofPlan'>,
  answer: Answer,
): boolean => meaningOf(decision, answer) !== ANSWER_MEANS[answer];

export const meaningOf = (
  decision: Pick<DecisionPoint, 'reason' | 'ofPlan'> | null,
  answer: Answer,
): string =>
  (decision?.ofPlan === true ? OF_PHASES[decision.reason]?.[answer] : undefined) ??
  (decision === null ? undefined : BY_REASON[decision.reason]?.[answer]) ??
  ANSWER_MEANS[answer];

const BY_FILE: ReadonlySet<string> = new Set(
  'approve skip revise select retry manual rebase regenerate take_theirs take'.split(' '),
);
/** Answers that resolve every file of a decision at once; the others may name files. */
export const WHOLE_ANSWERS: readonly Answer[] = (Object.keys(ANSWER_MEANS) as Answer[]).filter(
  (answer) => !BY_FILE.has(answer),
);

/** `approve` where files failed takes all that are done, which the decision does not list. */
export const isOfTheRest = ({ reason }: Pick<DecisionPoint, 'reason'>, answer: Answer): boolean =>
  answer === 'approve' && reason !== 'approval';

/** A file that a decision is about, and why. */
export interface DecisionFile {
  readonly path: string;
  readonly reason: PauseReason;
  readonly message: string;
}

/** Chosen changes by path. */
export type Selection = Readonly<Record<string, readonly number[]>>;

/** What a run waits for. */
export interface DecisionPoint extends Pause {
  /** `<n>-<the stepKey as shown>[-<first 8 of the proposal's hash>]` */
  readonly id: string;
  readonly n: number;
  readonly accepts: readonly Answer[];
  readonly proposalId: string | null;
  /** Asked about a plan or a phase of it; absent: about a job. */
  readonly ofPlan?: true;
  /** Answers so far by path; the decision is resolved when every file has one. */
  readonly answered: Readonly<Record<string, Answer>>;
  /** Workflow time, ms since the epoch. */
  readonly openedAt: number;
  /** `approvers` are set: an answer counts only where one of them signed it (those of `UNSIGNED_ANSWERS` apart). */
  readonly mustSign?: true;
}

export interface Decider {
  /** Who: a login name, or what the caller says. */
  readonly name: string;
  /** From where: `cli`, `web`, `signal`, `policy`. */
  readonly from: string;
  /** Of the approvers, by a signature that was checked; absent: nobody signed. */
  readonly signer?: string;
}

/** Namespace of the signatures: one made for something else is none. */
export const SIGNATURES = 'emend-decision';
/** They approve nothing; and where the host is gone nobody can check a signature. */
export const UNSIGNED_ANSWERS: readonly Answer[] = ['abort', 'wait'];

/** With `move`: the id of a host and a real path there (absent: the same), or the URL of a repository. */
export const TEXT_SETTINGS = ['model', 'command', 'host', 'workspace', 'repository'] as const;
type TextSetting = (typeof TEXT_SETTINGS)[number];

/** An answer: what our own clients send as the message `answer`, and what every message becomes. */
export interface DecisionRequest {
  readonly decision: string;
  readonly answer: Answer;
  /** Absent: all files of the decision that have no answer yet. */
  readonly files?: readonly string[];
  readonly note?: string;
  /** Limits by name, or texts; with `start`, parts by name. */
  readonly set?: Readonly<
    Partial<Record<LimitName | StartPart['name'] | TextSetting, number | string>>
  >;
  /** With `select`, and only with it: the changes to take, by file; numbered from 1 as the proposal's diff has them (see ProposalFileSummary.changes). */
  readonly select?: Selection;
  /** Names this request through update, fall-back signal and retries: it counts once. */
  readonly requestId: string;
  readonly by: Decider;
  /** An OpenSSH signature over `signedStatement`, and the time that it names (ISO 8601). */
  readonly signed?: { readonly at: string; readonly signature: string };
}

/** What is signed, as canonical JSON: the decision of this run and its proposal, and the answer with all its parameters. */
export const signedStatement = (
  run: string,
  proposal: string | null,
  { decision, answer, files, note, set, select }: DecisionRequest,
  at: string,
) => {
  const given = {
    files: files ?? null,
    note: note ?? null,
    set: set ?? null,
    select: select ?? null,
  };
  return { run, decision, proposal, answer, ...given, at };
};

/** The files that a request names; undefined: all that have no answer yet. */
export const namedFiles = ({
  files,
  select,
}: Pick<DecisionRequest, 'files' | 'select'>): readonly string[] | undefined =>
  select === undefined ? files : Object.keys(select);

export interface DecideOutcome {
  /** `recorded`: for the named files, and the decision still waits for others; `ignored`: it does not count, as an approver must sign it. */
  readonly outcome: 'resolved' | 'recorded' | 'already_resolved' | 'ignored';
  readonly decision: string;
  readonly message: string;
}

export interface ResolvedDecision extends Pick<
  DecisionPoint,
  'id' | 'n' | 'reason' | 'proposalId' | 'openedAt'
> {
  readonly answers: readonly DecisionRecord[];
  readonly resolvedAt: number;
}
export interface DecisionRecord extends Pick<
  DecisionRequest,
  'answer' | 'select' | 'requestId' | 'by'
> {
  readonly files: readonly string[];
  readonly note: string | null;
  readonly at: number;
}
