/**
 * Expected failures: values with a code, and one table that says what each means for retries, the exit code and the person.
 * A problem's message says what, where, expected and received; `next` says what to type or change.
 */
const TOLD_PROBLEMS = 50; // bound: Problems with one input that are told one by one; of others the number is told.

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  waiting: 3,
  refused: 4,
  conflict: 5,
  limit: 6,
  unavailable: 7,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANS: Readonly<Record<keyof typeof EXIT, string>> = {
  done: 'done, or nothing to do',
  failed: 'failed, aborted, terminated',
  usage:
    'usage error: a flag, a job file, `emend.yaml`, an unknown run, an answer that is not accepted',
  waiting: 'waiting for a decision',
  refused: 'refused; nothing was written',
  conflict: 'conflict: files changed in the meantime',
  limit: 'a limit was reached',
  unavailable: 'no server, worker, key or model',
  interrupted: 'interrupted',
};

interface ProblemSpec {
  readonly retryable: boolean;
  readonly exit: ExitCode;
  readonly hint: string;
}
const spec = (exit: ExitCode, hint: string, retryable = false): ProblemSpec => ({
  retryable,
  exit,
  hint,
});

export const PROBLEMS = {
  // what was typed or written
  job_not_found: spec(EXIT.usage, 'Give the path of a Markdown job file.'),
  job_invalid: spec(
    EXIT.usage,
    'Fix the named line or key of the job; docs/jobs.md lists every key.',
  ),
  config_invalid: spec(
    EXIT.usage,
    'Fix the named line of emend.yaml; docs/configuration.md lists every key.',
  ),
  config_untrusted: spec(
    EXIT.refused,
    'Read the named file. If you want what it says, type `emend trust FILE`, then try again.',
  ),
  plan_not_found: spec(
    EXIT.usage,
    'Give the path of a plan: a Markdown file, or the folder of the same name.',
  ),
  plan_invalid: spec(EXIT.usage, 'Fix the named line of the plan; docs/plans.md describes plans.'),
  usage: spec(EXIT.usage, 'See `emend help`.'),
  target_missing: spec(EXIT.usage, 'Correct the path, or name files to create under `new_files`.'),
  target_not_a_file: spec(EXIT.usage, 'Name files, not directories or devices.'),
  name_too_long: spec(EXIT.usage, 'Choose a shorter name for the file or its folders.'),
  target_outside: spec(EXIT.usage, 'Name files inside the workspace.'),
  run_unknown: spec(EXIT.usage, 'See `emend list`.'),
  run_ambiguous: spec(EXIT.usage, "Type more digits of the run's id."),
  answer_not_accepted: spec(
    EXIT.usage,
    'See `emend show RUN` for the answers that this decision accepts.',
  ),
  // refused before anything is paid
  half_done: spec(
    EXIT.refused,
    'Run `emend recover` to finish or revert the interrupted change, then try again.',
  ),
  target_binary: spec(
    EXIT.refused,
    'Emend edits text; leave binary files out of `target_files`, or allow a new path with `create`: then a response may rename them.',
  ),
  target_too_large: spec(EXIT.refused, 'Raise `maxFile_bytes`, or leave the file out.'),
  secret_in_name: spec(EXIT.refused, 'Rename the file, or set `secrets: send`.'),
  target_dirty: spec(
    EXIT.refused,
    'Commit or stash your changes to the file first, or set `commit: false`.',
  ),
  target_submodule: spec(
    EXIT.refused,
    'Run the job with `--workspace` in the submodule, or set `commit: false`.',
  ),
  too_many_files: spec(EXIT.refused, 'Write a plan of several steps, or name fewer files.'),
  nothing_to_edit: spec(EXIT.refused, 'Name the files in `target_files`.'),
  repository_unsupported: spec(
    EXIT.refused,
    'Run the job in a clone on a host, with `--workspace`.',
  ),
  remote_refused: spec(
    EXIT.refused,
    "Fix the URL, git's credentials, or what the remote accepts, then try again.",
  ),
  not_a_repository: spec(EXIT.refused, 'Run `git init` and commit once, or set `commit: false`.'),
  // answers of a model
  file_not_offered: spec(EXIT.refused, 'The answer names a file that was not offered for editing.'),
  // the workspace
  conflict: spec(
    EXIT.conflict,
    'Files changed in the meantime; answer rebase, regenerate or take_theirs.',
  ),
  busy: spec(EXIT.conflict, 'Another step has locked the workspace; Emend waits for it.', true),
  disk: spec(EXIT.failed, 'Free disk space or fix the permissions, then retry.'),
  git_failed: spec(EXIT.failed, "See git's message."),
  git_program: spec(
    EXIT.refused,
    'Name a program outside every workspace in the named setting of git.',
  ),
  git_too_old: spec(EXIT.refused, 'Install git 2.38 or later, or run the plan with --sequential.'),
  sign_failed: spec(
    EXIT.failed,
    'Make the key available to the worker and answer retry, or set `sign: false`.',
  ),
  hook_failed: spec(
    EXIT.failed,
    'A commit hook failed; fix what it reports, or set `hooks: false`.',
  ),
  // limits
  limit_reached: spec(EXIT.limit, 'Raise the limit with `--set LIMIT=VALUE`.'),
  // the outside
  no_server: spec(EXIT.unavailable, 'Start one with `emend dev`, or run with `--dev`.'),
  no_cli: spec(EXIT.unavailable, '`emend doctor` says how to get the Temporal CLI.'),
  no_program: spec(
    EXIT.unavailable,
    '`emend doctor` lists the programs and directories that Emend skips.',
  ),
  no_worker: spec(EXIT.unavailable, 'Start a worker: `emend worker`.'),
  worker_stuck: spec(
    EXIT.failed,
    'Start another worker: it takes over the work when the time-outs expire.',
  ),
  no_api_key: spec(
    EXIT.unavailable,
    'Set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for a local server.',
  ),
  model_unavailable: spec(
    EXIT.unavailable,
    'The model could not be reached; retry when it can.',
    true,
  ),
  model_rejected: spec(EXIT.unavailable, 'The model server refused the request; see its message.'),
  call_lost: spec(EXIT.failed, 'Calls were interrupted; retry calls (and pays) again.'),
  home_unusable: spec(EXIT.failed, 'EMEND_HOME must be a writable directory on a local disk.'),
  store_unusable: spec(
    EXIT.failed,
    'EMEND_STORE must be s3://BUCKET/PREFIX, the same for all workers, or unset: the home is then the store.',
  ),
  blob_lost: spec(
    EXIT.failed,
    'A stored file is missing; if a run waits because of it, answer regenerate.',
  ),
  version_unknown: spec(EXIT.failed, 'This record was written by another version of Emend.'),
  cli_version: spec(EXIT.failed, 'The database was created by another Temporal CLI version.'),
  engine_failed: spec(
    EXIT.failed,
    'Edit the file yourself (`manual`), or try another format; please report it.',
  ),
  aborted: spec(EXIT.failed, 'The run was aborted.'),
  internal: spec(EXIT.failed, 'This is a bug; see `emend show RUN` and the worker log.'),
} as const satisfies Record<string, ProblemSpec>;
export type ProblemCode = keyof typeof PROBLEMS;

/** An expected failure as a value. */
export interface Problem {
  readonly code: ProblemCode;
  /** One sentence: what, where, expected, received. No stack trace, no secret. */
  readonly message: string;
  /** What to type or change next; falls back to the table's hint. */
  readonly next?: string;
}

export const problem = (code: ProblemCode, message: string, next?: string): Problem =>
  next === undefined ? { code, message } : { code, message, next };

/** What went wrong and what to do: a decision point and a note show no more than this. */
export const sentence = ({ message, next }: Problem): string =>
  next === undefined ? message : `${message} ${next}`;

/**
 * Does it say what a person wrote or put there wrongly? That is an answer, the same at each try. Whatever else went wrong (git, a disk, a
 * thread) may pass, and is never kept as the answer.
 */
export const isRefusal = ({ code }: Problem): boolean => {
  const { exit } = PROBLEMS[code];
  return exit === EXIT.usage || exit === EXIT.refused;
};

/** An expected failure on its way to the one place that prints it or turns it into a result. Never used for bugs. */
export class ProblemError extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.message);
    this.name = 'ProblemError';
    this.problem = problem;
  }
}

/** Several problems on their way to the one place that prints them; `problem` is the first. */
export class ProblemsError extends ProblemError {
  readonly problems: readonly [Problem, ...Problem[]];
  constructor(problems: readonly [Problem, ...Problem[]]) {
    super(problems[0]);
    this.name = 'ProblemsError';
    this.problems = problems;
  }
}

export const fail = (code: ProblemCode, message: string, next?: string): never => {
  throw new ProblemError(problem(code, message, next));
};

/** Throws ProblemsError with all of them, where there are any; of more than `TOLD_PROBLEMS` with their number. */
export const failAll = (all: readonly Problem[]): void => {
  const [first, ...others] = all.slice(0, TOLD_PROBLEMS);
  if (first === undefined) return;
  const { code, next } = others.at(-1) ?? first;
  const more = all.length - TOLD_PROBLEMS;
  throw new ProblemsError([
    first,
    ...others,
    ...(more > 0 ? [problem(code, `and ${more} more.`, next)] : []),
  ]);
};

/** What was read. Throws ProblemsError with all that is wrong with it. */
export const valueOf = <T>(
  read:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly problems: readonly Problem[] },
): T => {
  if (read.ok) return read.value;
  failAll(read.problems);
  return fail('internal', 'refused without a reason');
};

/** For `catch`: a problem with one of these codes, or with any where none is named, is a value. All else is thrown on. */
export const problemOn =
  (...codes: readonly ProblemCode[]) =>
  (error: unknown): Problem => {
    if (error instanceof ProblemError && (codes.length === 0 || codes.includes(error.problem.code)))
      return error.problem;
    throw error;
  };
/** The same where nobody asks which. */
export const nullOn = (...codes: readonly ProblemCode[]) => {
  const told = problemOn(...codes);
  return (error: unknown): null => (told(error), null);
};

// ◆ Everything that Emend stores or schedules carries `v` (docs/versions.md lists it all). The stores, the wrapper of activities, the client
// and the workflow write it where a value leaves a process, and check it where a value enters one. A reader ignores fields that it does
// not know. It refuses another `v` with `version_unknown`, and does not touch the value.

/** Raised by each release that cannot read what an earlier one wrote. */
export const VERSION = 2;
export type Version = typeof VERSION;

export const versioned = <T extends object>(value: T): T & { readonly v: Version } => ({
  v: VERSION,
  ...value,
});

/** The `v` of a value that came from a disk, a server or another process; undefined where it has none. */
export const versionOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'v' in value ? value.v : undefined;

export const isKnown = (value: unknown): boolean => versionOf(value) === VERSION;

/** Whatever came: only a number is repeated. */
const shown = (v: unknown): string =>
  typeof v === 'number' ? `version ${v}` : v === undefined ? 'no version' : 'an unexpected version';

/** `what` names the thing and where it is. */
export const unknownVersion = (what: string, value: unknown): Problem => {
  const v = versionOf(value);
  return problem(
    'version_unknown',
    `${what} has ${shown(v)}; this Emend reads version ${VERSION}.`,
    'Another version of Emend wrote it: upgrade worker and client, or use that version.',
  );
};

/** Throws ProblemError `version_unknown`. */
export const checkVersion = (value: unknown, what: string): void => {
  if (!isKnown(value)) throw new ProblemError(unknownVersion(what, value));
};

/** The value without its `v`. Throws as `checkVersion` does. */
export const unversioned = (value: unknown, what: string): object => {
  checkVersion(value, what);
  return Object.fromEntries(Object.entries(value as object).filter(([name]) => name !== 'v'));
};
