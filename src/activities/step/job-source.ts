/** The job of a step: stored, if the run began with its text, else a file of the workspace. */
import type { PreflightInput, ReadJob } from '../../shared/step-activities.js';
import { hideSecrets } from '../../system/secrets.js';
import { decodeJob, readJobAtCommit, readJobBytes } from '../../workspace/documents/index.js';
import type { ActivityPorts } from '../frame/ports.js';
import { getText } from './snapshot.js';

export interface JobSource {
  readonly text: string;
  /** Bytes of the file; null: the job was stored already. */
  readonly bytes: Uint8Array | null;
}

/** Throws ProblemError `job_not_found`, `job_invalid`. */
export async function readJobSource(
  { blobs }: Pick<ActivityPorts, 'blobs'>,
  root: string,
  {
    job,
    jobPath,
    configurationCommit,
  }: Pick<PreflightInput, 'job' | 'jobPath' | 'configurationCommit'>,
): Promise<JobSource> {
  if (job !== null) return { text: await getText(blobs, job), bytes: null };
  const bytes =
    configurationCommit === undefined
      ? await readJobBytes(root, jobPath)
      : await readJobAtCommit(root, jobPath, configurationCommit);
  return { text: decodeJob(bytes, jobPath), bytes };
}

/** Stores the job that was read from its file, and returns what the run keeps of it; null: it was stored already. */
export async function storedJob(
  { blobs }: Pick<ActivityPorts, 'blobs'>,
  { bytes }: JobSource,
  title: string,
): Promise<ReadJob | null> {
  if (bytes === null) return null;
  return { ref: await blobs.put(bytes), title: await hideSecrets(title) };
}
