/** Reads configuration from a commit: of a pull request only the target branch is trusted. */
import { parseConfig } from '../../documents/job/index.js';
import { fail } from '../../shared/problems.js';
import { readConfig } from '../documents/index.js';
import { git, repositoryOf } from '../git/git.js';

/** Returns a file of the workspace as the commit has it; null: the commit has no such file. */
export async function fileAtCommit(
  root: string,
  commit: string,
  path: string,
): Promise<Buffer | null> {
  const repository = await repositoryOf(root);
  if (repository === null)
    return fail(
      'not_a_repository',
      `${root} is not in a git repository, so ${commit} is not known.`,
    );
  const name = `${commit}:${repository.prefix}${path}`;
  const found = await git(['cat-file', 'blob', name], {
    cwd: repository.root,
    reading: true,
    accept: [0, 128],
  });
  if (!found.ok) return fail('git_failed', found.problem.message);
  return found.value.code === 0 ? Buffer.from(found.value.bytes) : null;
}

/** Reads `emend.yaml` of the workspace, or as a commit has it. */
export async function readConfigAt(
  root: string,
  commit: string | undefined,
): Promise<ReturnType<typeof parseConfig>> {
  if (commit === undefined) return readConfig(root);
  const bytes = await fileAtCommit(root, commit, 'emend.yaml');
  return parseConfig(bytes === null ? null : bytes.toString('utf8'));
}
