/** `emend run`: starts a job (or joins its open run), shows it, asks, and says how it ended. */
import { isMarkdownPath, type Job } from '../../documents/job/index.js';
import { configurationCommit } from '../headless/target-branch.js';
import { jobAtCommit, readJobFile, type JobFile } from '../../workspace/documents/index.js';
import { startStep, type StartOptions } from '../../client/runs/start.js';
import { EXIT, fail, ProblemError, type ExitCode, type Problem } from '../../shared/problems.js';
import { branchOf } from '../../shared/repository.js';
import { estimateText } from '../../shared/event-text.js';
import { expectedText, moneyBudgetText } from '../../shared/usage.js';
import type { ToEstimate } from '../../worker/index.js';
import { plain } from '../render/text.js';
import { begin, tellEnd, type BeginFlags } from '../begin-end.js';
import { exitOfFollowed, explain } from '../errors.js';
import { followRun, type Followed } from '../follow-run.js';
import type { Io, JsonFlag } from '../io.js';
import { eventPrinter, printJson } from '../json.js';
import type { RunOutcome } from '../json-types.js';
import { withRunning } from '../services.js';
import {
  notify,
  notifyCommand,
  approveBy,
  readPolicy,
  checkBranch,
  publish,
  type PolicySource,
  type Publishing,
} from '../headless/approve.js';
import { shellWord } from '../../shared/text.js';
import { jobOfSentence, refuseJobFlags } from '../sentence.js';
import { runOverrides, type Session } from '../session.js';
import { UNWRITTEN } from './init.js';
import { type ResolvedRun, refreshRun } from '../../client/runs/resolve.js';
import { showRun } from '../../client/runs/show.js';
import { shownKey } from '../../shared/ids.js';
import type { Finding } from '../../shared/formats.js';

export interface RunFlags extends BeginFlags {
  readonly message?: string;
  readonly pick?: true;
  readonly configFrom?: string;
  readonly again?: true;
  readonly live?: true;
  readonly set: readonly string[];
  readonly hint: readonly string[];
  readonly workspace?: string;
  readonly repository?: string;
  readonly base?: string;
  readonly policy?: string;
  readonly annotations?: true;
  readonly push?: string;
  readonly remote: string;
  readonly draftPr?: true;
  readonly estimate?: true;
}

/** `args`: a job's path, or with `-m` its target files. */
export const run = async (io: Io, args: readonly string[], flags: RunFlags): Promise<ExitCode> => {
  const annotated = wantsAnnotations(io.env, flags.annotations === true);
  try {
    return await runJob(io, () => jobOf(io, args, flags), flags);
  } catch (error) {
    // Everything that is wrong with a job has a line of it.
    if (annotated)
      for (const each of explain(error).problems) io.command(annotationLine(ofProblem(each)));
    throw error;
  }
};

const jobOf = async (io: Io, args: readonly string[], flags: RunFlags): Promise<JobFile> => {
  const { repository, base } = flags;
  if (flags.message !== undefined) return jobOfSentence(io, flags.message, args, flags);
  refuseJobFlags(flags);
  const [jobPath = '', ...others] = args;
  const words = `If this says what to change, -m is missing: emend run -m ${shellWord(args.join(' '))}`;
  if (jobPath === '')
    return fail(
      'usage',
      'Expected a job file or -m.',
      'Type: emend run JOB.md, or: emend run -m "what to change"',
    );
  if (others.length > 0)
    return fail(
      'usage',
      `Expected one job file, received ${args.length} arguments.`,
      args.every(isMarkdownPath) ? 'Run one job at a time.' : words,
    );
  const read = readJobFile({
    jobPath,
    workspace: flags.workspace ?? null,
    cwd: io.cwd,
    repository,
    base,
  });
  const job = await read.catch((error: unknown) => {
    const isPath = isMarkdownPath(jobPath) && !/\s/.test(jobPath);
    if (isPath || !(error instanceof ProblemError) || error.problem.code !== 'job_not_found')
      throw error;
    return fail('job_not_found', error.problem.message, words);
  });
  // No model is paid for a job that nobody has written.
  if (new TextDecoder().decode(job.bytes).includes(UNWRITTEN))
    fail(
      'job_invalid',
      `${job.jobPath} does not describe a change: below its heading is still the template text.`,
      `Replace it, then: emend run ${jobPath}`,
    );
  return job;
};

/** Throws ProblemError `usage`. */
const refusePick = ({ targetFiles, newFiles, outputFiles }: Job): void => {
  const [named] = [...targetFiles, ...newFiles, ...outputFiles];
  if (named !== undefined)
    fail(
      'usage',
      `--pick: no file is picked, as the job names ${named}.`,
      'Omit --pick, or name no files.',
    );
};

interface JobToRun {
  readonly job: JobFile;
  /** Commit that the run reads its configuration from; null: its workspace has it. */
  readonly commit: string | null;
  /** Commit that a policy is read from; null: the working tree has it. */
  readonly policySource: PolicySource | null;
}

/** Reads the job from the target branch of a pull request. */
async function jobToRun(
  io: Io,
  job: JobFile,
  { configFrom, policy }: Pick<RunFlags, 'configFrom' | 'policy'>,
): Promise<JobToRun> {
  const isElsewhere = job.repository !== undefined;
  // A run on a repository works in a checkout of its base branch. Words that were typed are in no file of the pull request.
  if (isElsewhere && job.text !== undefined && policy === undefined)
    return { job, commit: null, policySource: null };
  const directory = isElsewhere ? (job.folder ?? io.cwd) : job.workspace;
  const commit = await configurationCommit(io.env, directory, configFrom);
  if (commit === null) return { job, commit, policySource: null };
  return {
    job: job.text === undefined ? await jobAtCommit(job, commit) : job,
    commit: isElsewhere ? null : commit,
    policySource: { directory, commit },
  };
}

type ReadJob = () => JobFile | Promise<JobFile>;
export const runJob = async (
  io: Io,
  read: ReadJob,
  flags: RunFlags,
  more: Partial<StartOptions> = {},
) => {
  const overrides = await runOverrides(flags.set);
  const { commit, policySource, job } = await jobToRun(io, await read(), flags);
  const policy =
    flags.policy === undefined ? null : await readPolicy(flags.policy, io.cwd, policySource);
  const command = await notifyCommand(io);
  const publishing = await publishingOf(io, flags, job);
  const pick = flags.pick === true && { pick: flags.pick };
  if (pick !== false) refusePick(job.job);
  if (flags.estimate === true) {
    const { workspace, repository, jobPath: path, bytes } = job;
    return tellEstimate(io, { workspace, repository, path, job: bytes, overrides, ...pick }, flags);
  }
  return withRunning(io, flags, async (session, signal) => {
    const { emend } = session;
    const again = flags.again === true;
    const step = await startStep(emend, {
      job,
      overrides,
      hints: flags.hint,
      ...(commit === null ? {} : { configurationCommit: commit }),
      again,
      ...pick,
      ...more,
    });
    const { title } = job.job;
    const already = 'This job is already running; showing it. (--again starts another run.)';
    const { resolved, shown, link, options } = await begin(session, step, title, already);
    const silent = options.shows !== 'progress';
    const followed = await followRun(session, resolved, {
      ...options,
      live: flags.live === true,
      signal,
      onEvent: eventPrinter(io, flags),
      ...(policy === null
        ? {}
        : { policy: approveBy(session, policy, flags.policy ?? '', silent) }),
      ...(command === null
        ? {}
        : { onWaiting: (status, decision) => notify(io, command, status, decision) }),
    });
    const exit = exitOfFollowed(followed);
    if (wantsAnnotations(io.env, flags.annotations === true))
      await annotate(session, resolved, followed);
    if (flags.json === true)
      printJson(io, 'run', { v: 1, ...step, link, ...outcomeOf(followed), exit });
    else await tellEnd(session, { shown, workspace: job.workspace }, followed);
    const result = followed.kind === 'closed' ? followed.closed.result : null;
    if (publishing !== null && result !== null)
      await publish(
        io,
        result,
        publishing.repository === undefined
          ? publishing
          : { ...publishing, branch: branchOf(step.stepKey) },
        { workspace: job.workspace, title, run: shown },
      );
    return exit;
  });
};

/** `--estimate`, of a job or a plan: what it would take. Starts nothing. Throws ProblemError as the run would be refused. */
export const tellEstimate = async (
  io: Io,
  asked: ToEstimate,
  { json }: JsonFlag,
): Promise<ExitCode> => {
  // The worker's libraries are large.
  const [{ estimateOnly }, { pino }] = await Promise.all([
    import('../../worker/index.js'),
    import('pino'),
  ]);
  const found = await estimateOnly(asked, io.env, pino({ level: 'silent' }));
  const { estimate, budget, phases, most = null, over } = found;
  if (json === true)
    printJson(io, 'run --estimate', { v: 1, path: asked.path, ...found, exit: EXIT.done });
  else if (phases !== undefined)
    io.out(`${plain(asked.path)}: ${estimateText({ phases, estimate, most, over, budget })}`);
  else
    for (const text of [`${expectedText(estimate)}; ${moneyBudgetText(budget)}`, ...over])
      io.out(`${plain(asked.path)}: ${plain(text)}`);
  return EXIT.done;
};

/** Throws ProblemError `usage`. */
const publishingOf = async (
  io: Io,
  { push, remote, draftPr }: RunFlags,
  { repository }: JobFile,
): Promise<Publishing | null> => {
  if (repository !== undefined) {
    if (push !== undefined)
      fail(
        'usage',
        '--push does not go with a repository.',
        'Omit it: the run pushes a branch of its own.',
      );
    return draftPr === true
      ? { branch: '', remote: repository.url, pullRequest: true, repository }
      : null;
  }
  if (push === undefined)
    return draftPr === true
      ? fail('usage', '--draft-pr needs a branch.', 'Add --push BRANCH.')
      : null;
  const publishing = { branch: push, remote, pullRequest: draftPr === true };
  await checkBranch(publishing, io.cwd);
  return publishing;
};

const outcomeOf = (followed: Followed): RunOutcome => {
  switch (followed.kind) {
    case 'closed':
      return { state: 'closed', ...followed.closed };
    case 'waiting':
      return {
        state: 'waiting',
        decision: followed.status.decision,
        status: followed.status,
        why: followed.why,
      };
    case 'no_worker':
      return { state: 'no_worker', message: followed.note };
    case 'interrupted':
      return { state: 'interrupted' };
  }
};

// What a run in GitHub Actions shows beside the files: findings of its proposal, what it waits for, how it failed.

// Annotations for GitHub Actions: workflow commands (`::error file=…,line=…::…`) on stderr, which the runner reads as it reads stdout.
// https://docs.github.com/actions/using-workflows/workflow-commands-for-github-actions

type Level = 'error' | 'warning' | 'notice';
export interface Annotation {
  readonly level: Level;
  readonly message: string;
  readonly title: string;
  readonly file?: string;
  readonly line?: number;
  readonly endLine?: number;
}

export const wantsAnnotations = (
  env: Readonly<Record<string, string | undefined>>,
  asked: boolean,
): boolean => asked || env.GITHUB_ACTIONS === 'true';

const inMessage = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const inProperty = (text: string): string =>
  inMessage(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

export const annotationLine = ({
  level,
  message,
  title,
  file,
  line,
  endLine,
}: Annotation): string => {
  const properties = Object.entries({ file, line, endLine, title }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${inProperty(String(value))}`],
  );
  return `::${level} ${properties.join(',')}::${inMessage(plain(message))}`;
};

const LEVELS: Record<Finding['severity'], Level> = {
  note: 'notice',
  ask: 'warning',
  refuse: 'error',
};

export const ofFinding = ({ guard, severity, path, lines, message }: Finding): Annotation => ({
  level: LEVELS[severity],
  title: `emend: ${guard}`,
  message,
  file: path,
  ...(lines === undefined ? {} : { line: lines[0], endLine: lines[1] }),
});

/** Problems that name a place (`job.md:3: …`) are shown there. */
export const ofProblem = ({ code, message }: Problem): Annotation => {
  const [, file, line, rest] = /^([^\s:]+):(\d+):(?:\d+:)? (.+)$/s.exec(message) ?? [];
  return file === undefined || line === undefined
    ? { level: 'error', title: `emend: ${code}`, message }
    : {
        level: 'error',
        title: `emend: ${code}`,
        message: rest ?? message,
        file,
        line: Number(line),
      };
};

export const annotate = async (
  { io, emend }: Session,
  run: ResolvedRun,
  followed: Followed,
): Promise<void> => {
  const { proposal } = await showRun(emend, await refreshRun(emend, run));
  const lines = [
    ...(proposal?.findings ?? []).map(ofFinding),
    ...endOf(followed, shownKey(run.stepKey)),
  ];
  for (const each of lines) io.command(annotationLine(each));
};

const endOf = (followed: Followed, shown: string): readonly Annotation[] => {
  switch (followed.kind) {
    case 'waiting': {
      const { decision } = followed.status;
      if (decision === null) return [];
      const lines = [
        `decision ${decision.id}`,
        decision.message,
        ...followed.why,
        `emend review ${shown}`,
      ];
      const title = `emend: waiting for a decision (${decision.reason})`;
      return [{ level: 'error', title, message: lines.join('\n') }];
    }
    case 'closed': {
      const { result, status, message } = followed.closed;
      if (result === null)
        return [
          { level: 'error', title: `emend: ${status.toLowerCase()}`, message: message ?? status },
        ];
      return result.problem === null ? [] : [ofProblem(result.problem)];
    }
    case 'no_worker':
      return [{ level: 'error', title: 'emend: no worker', message: followed.note }];
    case 'interrupted':
      return [];
  }
};
