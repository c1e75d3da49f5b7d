/** Starts an edit step, or shows the one that is already open for this job in this workspace. */
import { fail } from '../shared/problems.js';
import type { LimitName } from '../shared/limits.js';
import type { EditStepInput } from '../shared/protocol.js';
import type { StepKey } from '../shared/refs.js';
import type { StartedData } from './archived.js';
import { besideId, hereId, hostOfQueue, newStepKey, workflowIdOf } from './ids.js';
import type { JobFile } from './job-file.js';
import { needRuns } from './need-runs.js';
import type { Emend, RunGateway, RunMemo } from './types.js';

/** `--again` looks for a free workflow id this far. */
const MAX_BESIDE = 100;
/** A run may close between "it exists" and looking at it: then its id is free. */
const MAX_RACES = 3;

export interface StartOptions {
  readonly job: JobFile;
  readonly overrides?: Partial<Record<LimitName, number>>;
  readonly approval?: 'ask' | 'auto';
  /** Go into the prompts of this run. */
  readonly hints?: readonly string[];
  /** Start another beside an open one (`-2`, `-3`…). */
  readonly again?: boolean;
}
export interface StartedStep {
  readonly stepKey: StepKey;
  readonly workflowId: string;
  readonly runId: string;
  readonly started: 'new' | 'already_running';
}

/** Throws ProblemError `no_server`; `conflict` when a run that is not ours holds the workflow id. */
export const startStep = async (emend: Emend, options: StartOptions): Promise<StartedStep> => {
  const runs = needRuns(emend);
  const { job } = options;
  const input: EditStepInput = {
    v: 1,
    stepKey: newStepKey(),
    workspace: job.workspace,
    job: await emend.blobs.put(job.bytes),
    jobPath: job.jobPath,
    title: job.job.title,
    queues: emend.queues,
    timings: emend.timings,
    overrides: options.overrides ?? {},
    ...(options.approval === undefined ? {} : { approval: options.approval }),
    hints: options.hints ?? [],
    searchAttributes: await runs.searchAttributes(),
  };
  const plain = workflowIdOf(job.workspace, job.jobPath);
  const host = hostOfQueue(emend.queues.host);
  const base = (await isTakenElsewhere(runs, plain, host)) ? hereId(plain, host) : plain;
  for (let n = 1; n <= (options.again === true ? MAX_BESIDE : 1); n++) {
    const step = await startAs(runs, besideId(base, n), input, options.again !== true);
    if (step === null) continue;
    if (step.started === 'new') await noteStart(emend, input, step);
    return step;
  }
  return fail(
    'conflict',
    `${MAX_BESIDE} runs of ${job.jobPath} are open already.`,
    'See `emend list`; finish or abort some of them.',
  );
};

/** Two hosts on one namespace may have workspaces at the same path: the other's open run is not this job's. */
const isTakenElsewhere = async (runs: RunGateway, workflowId: string, host: string): Promise<boolean> => {
  const found = await runs.describe({ workflowId, runId: null });
  const theirs = found?.open === true ? found.memo?.host : undefined;
  return theirs !== undefined && theirs !== host;
};

/** Null: an open run holds the id and is not wanted. */
const startAs = async (
  runs: RunGateway,
  workflowId: string,
  input: EditStepInput,
  showOpen: boolean,
): Promise<StartedStep | null> => {
  const { stepKey, jobPath, title, workspace } = input;
  const memo: RunMemo = { v: 1, stepKey, jobPath, title, workspace, host: hostOfQueue(input.queues.host) };
  for (let race = 0; race < MAX_RACES; race++) {
    const started = await runs.start({ workflowId, input, memo, summary: title, details: detailsOf(memo) });
    if (started.outcome === 'started') return { stepKey, workflowId, runId: started.runId, started: 'new' };
    if (!showOpen) return null;
    const found = await runs.describe({ workflowId, runId: null });
    if (found?.open !== true) continue;
    if (found.memo === null)
      return fail(
        'conflict',
        `${workflowId} is open on the server, but Emend did not start it.`,
        'Start another beside it with --again.',
      );
    return { stepKey: found.memo.stepKey, workflowId, runId: found.runId, started: 'already_running' };
  }
  return fail(
    'conflict',
    `${workflowId} was opened and closed by others again and again.`,
    'Try once more, or start another with --again.',
  );
};

const detailsOf = ({ stepKey, jobPath, workspace }: RunMemo): string =>
  [`Job \`${jobPath}\` in \`${workspace}\`.`, '', `In a terminal: \`emend show ${stepKey.slice(0, 8)}\``].join('\n');

const noteStart = async (emend: Emend, input: EditStepInput, step: StartedStep): Promise<void> => {
  const data: StartedData = {
    v: 1,
    workflowId: step.workflowId,
    runId: step.runId,
    namespace: emend.namespace,
    address: emend.address,
    queues: input.queues,
    workspace: input.workspace,
    jobPath: input.jobPath,
    title: input.title,
  };
  await emend.archive.append(input.stepKey, [
    { v: 1, id: 'started', at: new Date().toISOString(), kind: 'started', data },
  ]);
};
