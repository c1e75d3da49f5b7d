/** Settings of a step: the later of `emend.yaml`, the job and the command line counts. */
import * as jobs from '../../../documents/job/index.js';
import type { BlobRef } from '../../../shared/ids.js';
import type { Limits } from '../../../shared/limits.js';
import { fail, valueOf } from '../../../shared/problems.js';
import { configurationOf } from '../../../shared/run.js';
import type { PreflightInput, ReadJob } from '../../../shared/step-activities.js';
import { approversOf } from '../approvers.js';
import { storedJob } from '../job-source.js';
import { putText, type Snapshot } from '../snapshot.js';
import type { TrustedConfiguration } from './configuration.js';
import type { PreflightContext } from './context.js';

export interface StepSettings {
  readonly job: jobs.Job;
  /** What the run keeps of the job's file; null: the input named the stored job. */
  readonly readJob: ReadJob | null;
  /** `emend.yaml`, with what the job and the command line say instead. */
  readonly config: jobs.ProjectConfig;
  /** Limits as they are set. No model is known yet that they must fit. */
  readonly limits: Limits;
  /** Null: the run makes no commit. */
  readonly commit: PlannedCommit | null;
  /** `allowed_signers` file; null: a decision needs no signature. */
  readonly approvers: BlobRef | null;
  /** As it is set. Approvers are asked also under `auto`. */
  readonly approval: 'ask' | 'auto';
  /** What a snapshot says whatever its targets are. */
  readonly snapshotBase: SnapshotBase;
  /** Bytes of task and hints, which every call shows. */
  readonly taskText_bytes: number;
}
interface PlannedCommit {
  readonly message: string;
  /** Commit that HEAD names; null: the branch has no commit. */
  readonly head: string | null;
}
type SnapshotBase = Omit<
  Snapshot,
  'model' | 'complexity' | 'routedAs' | 'limits' | 'context' | 'rules' | 'targets'
>;

/** Throws ProblemError `job_invalid`, `config_invalid`, `not_a_repository`. */
export async function resolveSettings(
  context: PreflightContext,
  { source, config: checkedConfig }: TrustedConfiguration,
): Promise<StepSettings> {
  const { ports, input } = context;
  const job = valueOf(jobs.parseJob(source.text, input.jobPath));
  const readJob = await storedJob(ports, source, job.title);
  const projectConfig = valueOf(checkedConfig);
  const limits = jobs.resolveLimits(projectConfig, job, input.overrides);
  const commit = await planCommit(context, job, projectConfig);
  const approvers = await approversOf(ports, input.workspace, projectConfig);
  const approval = input.approval ?? job.approval ?? projectConfig.approval;
  const config = mergeConfig(projectConfig, job, { approval, overrides: input.overrides });
  const snapshotBase = await startSnapshot(context, job, config);
  return {
    job,
    readJob,
    config,
    limits,
    commit,
    approvers,
    approval,
    snapshotBase,
    taskText_bytes: Buffer.byteLength([job.instructions, ...snapshotBase.hints].join('\n')),
  };
}

/** Plans the commit that the run ends with; null: it makes none. Throws ProblemError `not_a_repository`. */
async function planCommit(
  { ports, input }: PreflightContext,
  job: jobs.Job,
  config: jobs.ProjectConfig,
): Promise<PlannedCommit | null> {
  const { workspace, jobPath } = input;
  const message = commitMessageOf(job, config, input);
  if (message === null) return null;
  const branch = await ports.repository.head(workspace);
  if (branch === null)
    return fail(
      'not_a_repository',
      `${jobPath}: commit is set, but ${workspace} is not in a git repository`,
    );
  return { message, head: branch.head };
}

/** A run on a repository always commits, as it pushes the commit. */
const commitMessageOf = (
  job: jobs.Job,
  config: jobs.ProjectConfig,
  { repository }: PreflightInput,
): string | null => {
  const setting = job.commit ?? (repository !== undefined || (config.commit ?? false));
  if (setting === false) return null;
  return typeof setting === 'string' ? setting : job.title;
};

const mergeConfig = (
  config: jobs.ProjectConfig,
  job: jobs.Job,
  { approval, overrides }: { approval: 'ask' | 'auto'; overrides: PreflightInput['overrides'] },
): jobs.ProjectConfig => {
  const secrets = job.secrets ?? config.secrets;
  return {
    ...config,
    repair: job.repair ?? config.repair,
    requireCompleteSentinel:
      overrides.requireCompleteSentinel ??
      job.requireCompleteSentinel ??
      config.requireCompleteSentinel,
    // Under `auto` no reviewer can answer.
    secrets: secrets === 'ask' && approval === 'auto' ? 'mask' : secrets,
    audit: job.audit ?? config.audit,
    sandbox: job.sandbox ?? config.sandbox,
    create: job.create ?? config.create ?? false,
    context: job.context ?? config.context,
  };
};

const startSnapshot = async (
  { ports, input }: PreflightContext,
  job: jobs.Job,
  config: jobs.ProjectConfig,
): Promise<SnapshotBase> => ({
  stepKey: input.stepKey,
  workspace: input.workspace,
  instructions: await putText(ports.blobs, job.instructions),
  category: job.category,
  effort: job.effort,
  job: { path: input.jobPath, sandbox: job.sandbox },
  ...configurationOf(input),
  config,
  hints: [...config.hints, ...input.hints],
  finalNewline: job.finalNewline,
});
