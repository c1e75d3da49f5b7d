/** Reads the files that the run obeys, and asks about those that may be a model's work. */
import type { PreflightInput, UntrustedConfiguration } from '../../../shared/step-activities.js';
import { checkWorkspace } from '../../../workspace/documents/index.js';
import {
  configIn,
  configurationFiles,
  jobOf,
  readConfigAt,
  type ConfigurationFile,
} from '../../../workspace/trust/index.js';
import { untrustedConfiguration } from '../../frame/configuration.js';
import type { ActivityPorts } from '../../frame/ports.js';
import { readJobSource, type JobSource } from '../job-source.js';

/** Configuration that the run may obey. The content that was checked is the one that counts. */
export interface TrustedConfiguration {
  /** `emend.yaml`, parsed. */
  readonly config: Awaited<ReturnType<typeof readConfigAt>>;
  readonly source: JobSource;
  /** Files that were checked; null: all of them come from a commit. */
  readonly checkedFiles: readonly ConfigurationFile[] | null;
}

/** Reads `emend.yaml` and the job once, and checks whether they and the files with instructions are trusted. */
export async function readConfiguration(
  ports: ActivityPorts,
  input: PreflightInput,
  root: string,
): Promise<TrustedConfiguration | UntrustedConfiguration> {
  const { configurationCommit: commit } = input;
  if (input.snapshotNumber === 1) await checkWorkspace(root);
  const source = await readJobSource(ports, root, input);
  // The commit is one of the target branch, which is trusted.
  if (commit !== undefined)
    return { config: await readConfigAt(root, commit), source, checkedFiles: null };
  const files = await configurationFiles(root);
  const job = await jobOf(root, input.jobPath, source.text);
  const untrusted = await untrustedConfiguration(ports, root, [...files, job], input.trusts);
  return untrusted ?? { config: configIn(files), source, checkedFiles: files };
}
