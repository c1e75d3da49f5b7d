/** The `sandbox` that a job sets for itself, as its file is now: the reviewer was asked to change it. */
import { isAbsolute } from 'node:path';
import { isMarkdownPath, parseJob, type SandboxSettings } from '../../documents/job/index.js';
import { planOf } from '../../shared/ids.js';
import { fail } from '../../shared/problems.js';
import type { ActivityBase } from '../../shared/proposal-activities.js';
import { jobFile } from '../../workspace/trust/index.js';
import { requireTrusted } from '../frame/configuration.js';
import type { ActivityPorts } from '../frame/ports.js';
import type { Snapshot } from './snapshot.js';

type SnapshotJob = NonNullable<Snapshot['job']>;
type Request = Pick<ActivityBase, 'stepKey' | 'repository'> & { readonly workspace: string };

/**
 * Returns the job's own `sandbox`, or null if it sets none. Reads the job's file again, except where the run has no such file in the
 * workspace: for a job in words, a job outside the workspace, a phase of a plan and a run on a repository the job counts as it began.
 */
export async function currentJobSandbox(
  ports: ActivityPorts,
  { stepKey, workspace, repository }: Request,
  { path, sandbox }: SnapshotJob,
): Promise<SandboxSettings | 'off' | null> {
  const isFile = isMarkdownPath(path) && !isAbsolute(path) && planOf(stepKey) === stepKey;
  if (!isFile || repository !== undefined) return sandbox;
  const root = await ports.workspace.root(workspace);
  const file = await jobFile(root, path);
  if (file === null) return sandbox;
  await requireTrusted(ports, root, [file]);
  const job = parseJob(file.text, path);
  if (!job.ok) return fail('job_invalid', job.problems.map(({ message }) => message).join('\n'));
  return job.value.sandbox;
}
