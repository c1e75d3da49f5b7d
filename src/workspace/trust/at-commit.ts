/** Reads configuration from a commit: of a pull request only the target branch is trusted. */
import { parseConfig } from '../../documents/job/index.js';
import { readConfig } from '../documents/index.js';
import { fileAtCommit } from '../git/index.js';

export { fileAtCommit };

/** Reads `emend.yaml` of the workspace, or as a commit has it. */
export async function readConfigAt(
  root: string,
  commit: string | undefined,
): Promise<ReturnType<typeof parseConfig>> {
  if (commit === undefined) return readConfig(root);
  const file = await fileAtCommit(root, commit, 'emend.yaml');
  return parseConfig(file === null ? null : file.bytes.toString('utf8'));
}
