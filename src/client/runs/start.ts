/** Starts an edit step, or shows the one that is already open for this job in this workspace. */
import { posix } from 'node:path';
import type { StepKey } from '../../shared/ids.js';
import type { Overrides } from '../../shared/limits.js';
import { hostOfQueue, queuesOfAny, type Queues } from '../../shared/names.js';
import { fail } from '../../shared/problems.js';
import type { RepositoryBase } from '../../shared/repository.js';
import type { RunSetup, StepSetup } from '../../shared/run.js';
import type { EditStepInput, PlanInput } from '../../shared/start-input.js';
import { codeSpan, slug } from '../../shared/text.js';
import { sha256 } from '../../system/hash.js';
import type { JobFile } from '../../workspace/documents/index.js';
import {
  needRuns,
  type Emend,
  type RunGateway,
  type StartMemo,
  type StartRequest,
} from '../types.js';

const CONCURRENT_IDS = 100; // bound: `--again` looks for a free workflow id this far.
const START_RACES = 3; // bound: A run may close between "it exists" and looking at it: then its id is free.

// Names of runs. ◆ Both rules are kept for ever: stores and histories depend on them.

/**
 * `emend/<job|plan>/<slug of the file's name>/<first 12 hex digits of sha-256(workspace NUL path)>`. The workspace is a real path; a job's
 * path is relative to it, with `/`, where the job lies inside, else absolute; a plan's is without its level (`plans/010_demo`). Of a job
 * without a file the path is the slug of its first words, and its whole text is hashed instead.
 */
export const workflowIdOf = (
  kind: 'job' | 'plan',
  workspace: string,
  path: string,
  hashed = path,
): string =>
  [
    'emend',
    kind,
    slug(posix.basename(path, '.md')) || kind,
    sha256(`${workspace}\0${hashed}`).slice(0, 12),
  ].join('/');

/** The n-th run beside the first: `<id>`, `<id>-2`, `<id>-3`… */
export const concurrentId = (workflowId: string, n: number): string =>
  n === 1 ? workflowId : `${workflowId}-${n}`;

/** The same job at the same path on another host is another job: where that one's run is open, ours gets this id. */
export const hereId = (workflowId: string, host: string): string =>
  `${workflowId}-${host.slice(0, 8)}`;

export const looksLikeWorkflowId = (text: string): boolean => /^emend[/-]/.test(text);

/** Settings of a run in addition to its job or plan. */
export interface RunSettings {
  readonly overrides: Overrides;
  readonly approval: NonNullable<RunSetup['approval']>;
  readonly hints: readonly string[];
  readonly configurationCommit: string;
}

export interface StartOptions
  extends Partial<RunSettings>, Pick<StepSetup, 'given' | 'pick' | 'follows'> {
  readonly job: JobFile;
  /** Start another beside an open one (`-2`, `-3`…). */
  readonly again?: boolean;
}
/** A run that was started, or was open already. */
export interface StartedStep {
  /** Names the run everywhere. */
  readonly stepKey: StepKey;
  readonly workflowId: string;
  readonly runId: string;
  readonly started: 'new' | 'already_running';
}

/** What is started: its input, and how lists name it. */
export interface RunToStart {
  readonly kind: StartRequest['kind'];
  /** The workflow id without a host or a number. */
  readonly workflowId: string;
  readonly input: EditStepInput | PlanInput;
  /** Queues of the host that does its work. */
  readonly queues: Queues;
  readonly title: string;
  readonly jobPath: string;
  readonly workspace: string;
}

/** Throws ProblemError `no_server`; `conflict` when a run that is not ours holds the workflow id. */
export const startStep = async (emend: Emend, options: StartOptions): Promise<StartedStep> => {
  const { job, again } = options;
  const run: RunToStart = {
    kind: 'job',
    workflowId: jobId(job),
    input: await stepInput(emend, options),
    queues: queuesOfPlace(emend, job.repository),
    title: job.job.title,
    jobPath: job.jobPath,
    workspace: job.workspace,
  };
  return startRun(emend, run, again);
};

/** Of a plan there is one open run: `again` is for jobs. Throws as `startStep` does. */
export const startRun = async (
  emend: Emend,
  run: RunToStart,
  again = false,
): Promise<StartedStep> => {
  const runs = needRuns(emend);
  const base = await freeId(run, runs, run.workflowId);
  for (let n = 1; n <= (again ? CONCURRENT_IDS : 1); n++) {
    const step = await startAs(
      runs,
      requestOf({ ...run, workflowId: concurrentId(base, n) }),
      !again,
    );
    if (step !== null) return step;
  }
  return fail(
    'conflict',
    `${CONCURRENT_IDS} runs of ${run.jobPath} are already open.`,
    'See `emend list`; finish or abort some of them.',
  );
};

const jobId = (job: JobFile): string => workflowIdOf('job', job.workspace, job.jobPath, job.text);

/** Queues of this host; of a repository those of any host. */
export const queuesOfPlace = (
  { queues }: Pick<Emend, 'queues'>,
  repository: RepositoryBase | undefined,
): Queues => (repository === undefined ? queues : queuesOfAny(queues));

// The input of the workflow, as it would be typed.

/** Returns the input of `editStep` for a job. A file of the workspace is named; any other job is sent as its text. */
export const stepInput = async (
  emend: Pick<Emend, 'queues'>,
  { job, given, pick, follows, ...settings }: Omit<StartOptions, 'again'>,
): Promise<EditStepInput> => {
  const { workspace } = job;
  const isFile = job.text === undefined && job.repository === undefined;
  const work = isFile ? { jobFile: job.jobPath } : await taskInput(job);
  const own = isFile ? settings : withSettingsOf(job, settings);
  return {
    ...work,
    ...placeInput(emend, job),
    ...(await settingsInput(own, workspace)),
    ...(pick === undefined ? {} : { pick }),
    ...(given === undefined ? {} : { acceptedResult: given }),
    ...(follows === undefined
      ? {}
      : { follows: { ...follows, notes: await withoutSecrets(follows.notes, workspace) } }),
  };
};

/** Readers of jobs are loaded only for a job whose text is sent. */
const taskInput = async (job: JobFile): Promise<EditStepInput> =>
  (await import('./task-input.js')).taskOf(job);

/** Settings of the run are stronger than those of its job. */
const withSettingsOf = (
  { job: { approval, requireCompleteSentinel, limits } }: JobFile,
  settings: Partial<RunSettings>,
): Partial<RunSettings> => ({
  ...(approval === null ? {} : { approval }),
  ...settings,
  overrides: {
    ...(requireCompleteSentinel === null ? {} : { requireCompleteSentinel }),
    ...limits,
    ...settings.overrides,
  },
});

/** Returns the keys of the input that name the place to edit. */
export const placeInput = (
  { queues }: Pick<Emend, 'queues'>,
  { workspace, repository }: Pick<JobFile, 'workspace' | 'repository'>,
) => {
  if (repository !== undefined) {
    const { url, ...rest } = repository;
    return { repository: url, ...rest };
  }
  // At the dev server of a home all roles share one queue, and there is one host.
  return queues.workflow === queues.host
    ? { workspace }
    : { workspace, host: hostOfQueue(queues.host) };
};

/** Returns the keys of the input that are settings of the run. */
export const settingsInput = async (
  { overrides, approval, hints = [], configurationCommit }: Partial<RunSettings>,
  workspace: string,
) => ({
  ...(approval === undefined ? {} : { approval }),
  ...(hints.length === 0 ? {} : { hints: await withoutSecrets(hints, workspace) }),
  ...(configurationCommit === undefined ? {} : { configurationCommit }),
  ...overrides,
});

/** Its rules are loaded only if there are words. */
export const withoutSecrets = async <T>(words: T, workspace: string): Promise<T> =>
  (await import('./masked-words.js')).maskedWords(words, workspace);

/** A run's id on its host: another one where an open run of another host holds the plain id. */
const freeId = async (
  { queues }: { readonly queues: Queues },
  runs: RunGateway,
  plain: string,
): Promise<string> => {
  const host = hostOfQueue(queues.host);
  return (await isTakenElsewhere(runs, plain, host)) ? hereId(plain, host) : plain;
};

/** Two hosts on one namespace may have workspaces at the same path: the other's open run is not this job's. */
const isTakenElsewhere = async (
  runs: RunGateway,
  workflowId: string,
  host: string,
): Promise<boolean> => {
  const found = await runs.describe({ workflowId, runId: null });
  const theirs = found?.open === true ? found.memo?.host : undefined;
  return theirs !== undefined && theirs !== host;
};

/** Null: an open run holds the id and is not wanted. */
const startAs = async (
  runs: RunGateway,
  request: StartRequest,
  showOpen: boolean,
): Promise<StartedStep | null> => {
  const { workflowId } = request;
  for (let race = 0; race < START_RACES; race++) {
    const started = await runs.start(request);
    if (started.outcome === 'started') {
      const { stepKey, runId } = started;
      return { stepKey, workflowId, runId, started: 'new' };
    }
    if (!showOpen) return null;
    const found = await runs.describe({ workflowId, runId: null });
    if (found?.open !== true) continue;
    if (found.memo === null)
      return fail(
        'conflict',
        `${workflowId} is open on the server, but Emend did not start it.`,
        'Start another run with --again.',
      );
    return {
      stepKey: found.memo.stepKey,
      workflowId,
      runId: found.runId,
      started: 'already_running',
    };
  }
  return fail(
    'conflict',
    `${workflowId} was repeatedly opened and closed by others.`,
    'Try once more, or start another with --again.',
  );
};

const requestOf = ({
  kind,
  workflowId,
  input,
  queues,
  title,
  jobPath,
  workspace,
}: RunToStart): StartRequest => {
  const memo: StartMemo = { jobPath, title, workspace, host: hostOfQueue(queues.host) };
  return {
    kind,
    workflowId,
    taskQueue: queues.workflow,
    input,
    title,
    memo,
    details: detailsOf(memo, workflowId),
    attributes: null,
  };
};

const detailsOf = ({ jobPath, workspace }: StartMemo, workflowId: string): string =>
  [
    `Job ${codeSpan(jobPath)} in ${codeSpan(workspace)}.`,
    '',
    `In a terminal: \`emend show ${workflowId}\``,
  ].join('\n');
