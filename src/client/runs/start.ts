/** Starts an edit step, or shows the one that is already open for this job in this workspace. */
import { randomBytes } from 'node:crypto';
import { posix } from 'node:path';
import { type StepKey, shownKey } from '../../shared/ids.js';
import { fail } from '../../shared/problems.js';
import type { PlanInput, EditStepInput, RunInput } from '../../shared/run.js';
import { hostOfQueue, queuesOfAny } from '../../shared/names.js';
import { childOptions } from '../../shared/run-options.js';
import { currentRules } from '../../shared/rules.js';
import type { StartedData } from '../archive/run.js';
import { codeSpan, slug } from '../../shared/text.js';
import { sha256 } from '../../system/hash.js';
import type { JobFile } from '../../workspace/documents/index.js';
import { needRuns, type Emend, type RunGateway, type RunMemo } from '../types.js';

const CONCURRENT_IDS = 100; // bound: `--again` looks for a free workflow id this far.
const START_RACES = 3; // bound: A run may close between "it exists" and looking at it: then its id is free.

// Names of runs. ◆ Both rules are kept for ever: stores and histories depend on them.

/** 128 random bits as 32 hex digits. */
export const newStepKey = (): StepKey => randomBytes(16).toString('hex');

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

/** What a person may say of a run beside its job or plan. */
export type WantedOfRun = Pick<
  RunInput,
  'overrides' | 'approval' | 'hints' | 'configurationCommit'
>;

export interface StartOptions
  extends Partial<WantedOfRun>, Pick<EditStepInput, 'given' | 'pick' | 'follows'> {
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

/** Throws ProblemError `no_server`; `conflict` when a run that is not ours holds the workflow id. */
export const startStep = async (emend: Emend, options: StartOptions): Promise<StartedStep> =>
  startRun(emend, jobId(options.job), await stepInput(emend, options), options.again);

/** Of a plan there is one open run: `again` is for jobs. Throws as `startStep` does. */
export const startRun = async (
  emend: Emend,
  plain: string,
  input: EditStepInput | PlanInput,
  again = false,
): Promise<StartedStep> => {
  const runs = needRuns(emend);
  const base = await freeId(input, runs, plain);
  for (let n = 1; n <= (again ? CONCURRENT_IDS : 1); n++) {
    const step = await startAs(runs, concurrentId(base, n), input, !again);
    if (step === null) continue;
    if (step.started === 'new') await noteStart(emend, input, step);
    return step;
  }
  return fail(
    'conflict',
    `${CONCURRENT_IDS} runs of ${pathOf(input)} are already open.`,
    'See `emend list`; finish or abort some of them.',
  );
};

export const jobId = (job: JobFile): string =>
  workflowIdOf('job', job.workspace, job.jobPath, job.text);
export const stepInput = async (
  emend: Emend,
  { job, ...options }: StartOptions,
): Promise<EditStepInput> => ({
  ...(await runInput(emend, job.workspace, job.job.title, options)),
  ...(job.repository === undefined
    ? {}
    : { repository: job.repository, queues: queuesOfAny(emend.queues) }),
  job: await emend.blobs.put(job.bytes),
  jobPath: job.jobPath,
  ...(options.given === undefined ? {} : { given: options.given }),
  ...(options.pick === undefined ? {} : { pick: options.pick }),
  ...(options.follows && {
    follows: {
      ...options.follows,
      notes: await withoutSecrets(options.follows.notes, job.workspace),
    },
  }),
});

/** Its rules are loaded only if there are words. */
export const withoutSecrets = async <T>(words: T, workspace: string): Promise<T> =>
  (await import('./masked-words.js')).maskedWords(words, workspace);

/** What a step and a plan are started with alike. Throws ProblemError `no_server`. */
export const runInput = async (
  emend: Emend,
  workspace: string,
  title: string,
  { overrides = {}, approval, hints = [], configurationCommit }: Partial<WantedOfRun>,
): Promise<RunInput> => ({
  stepKey: newStepKey(),
  workspace,
  title,
  queues: emend.queues,
  timings: emend.timings,
  rules: currentRules(),
  overrides,
  hints: hints.length === 0 ? [] : await withoutSecrets(hints, workspace),
  ...(approval === undefined ? {} : { approval }),
  ...(configurationCommit === undefined ? {} : { configurationCommit }),
  searchAttributes: await needRuns(emend).searchAttributes(),
});

/** A run's id on its host: another one where an open run of another host holds the plain id. */
export const freeId = async (
  { queues }: Pick<RunInput, 'queues'>,
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
  workflowId: string,
  input: EditStepInput | PlanInput,
  showOpen: boolean,
): Promise<StartedStep | null> => {
  const { stepKey } = input;
  for (let race = 0; race < START_RACES; race++) {
    const started = await runs.start(requestOf(workflowId, input));
    if (started.outcome === 'started')
      return { stepKey, workflowId, runId: started.runId, started: 'new' };
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

/**
 * What somebody else's workflow starts the run with, as its child: JSON, so it may be an argument or an activity's result. From now on
 * the archive knows of the run. Throws ProblemError `no_server`.
 */
export const prepareRun = async <Input extends EditStepInput | PlanInput>(
  emend: Emend,
  plain: string,
  input: Input,
): Promise<ReturnType<typeof childOptions<Input>>> => {
  const workflowId = await freeId(input, needRuns(emend), plain);
  await noteStart(emend, input, { workflowId, runId: '' });
  return childOptions(requestOf(workflowId, input));
};

const pathOf = (input: EditStepInput | PlanInput): string =>
  'planPath' in input ? input.planPath : input.jobPath;
const requestOf = <Input extends EditStepInput | PlanInput>(workflowId: string, input: Input) => {
  const { stepKey, title, workspace } = input;
  const memo: RunMemo = {
    stepKey,
    jobPath: pathOf(input),
    title,
    workspace,
    host: hostOfQueue(input.queues.host),
  };
  return { workflowId, input, memo, details: detailsOf(memo) };
};

const detailsOf = ({ stepKey, jobPath, workspace }: RunMemo): string =>
  [
    `Job ${codeSpan(jobPath)} in ${codeSpan(workspace)}.`,
    '',
    `In a terminal: \`emend show ${shownKey(stepKey)}\``,
  ].join('\n');

const noteStart = async (
  { namespace, address, archive }: Emend,
  input: EditStepInput | PlanInput,
  { workflowId, runId }: Pick<StartedStep, 'workflowId' | 'runId'>,
): Promise<void> => {
  const { queues, workspace, title } = input;
  const at = new Date().toISOString();
  const data: StartedData = {
    workflowId,
    runId,
    namespace,
    address,
    queues,
    workspace,
    jobPath: pathOf(input),
    title,
    ...('job' in input && { job: input.job, ...(input.follows && { follows: input.follows }) }),
  };
  await archive.append(input.stepKey, [{ id: 'started', at, kind: 'started', data }]);
};
