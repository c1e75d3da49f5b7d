/** Files whose content is not in the workspace: Git LFS keeps it on a server, a sparse checkout leaves it out. */
import { problem, type Problem } from '../../shared/problems.js';

/** https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md: the first two lines. */
const LFS_POINTER =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\r?\n(ext-.*\n)*oid sha256:[0-9a-f]{64}/;
const POINTER_BYTES = 200; // bound: What is read of a file to tell a pointer.
const FETCH = 'Fetch it with `git lfs pull`, or name another file.';
const CHECK_OUT = 'Check it out with `git sparse-checkout add`, or name another file.';

/** Returns why a file cannot be edited that is a pointer of Git LFS; null: it is none. */
export const pointerProblem = (path: string, bytes: Uint8Array): Problem | null =>
  LFS_POINTER.test(new TextDecoder().decode(bytes.subarray(0, POINTER_BYTES)))
    ? problem('target_binary', `${path} is a pointer of Git LFS, not what the file holds`, FETCH)
    : null;

/** Returns why no file may be created at a path that is absent; null: git tracks none there. `tracked`: as `listWorkspaceFiles` lists them. */
export const sparseProblem = (path: string, tracked: readonly string[]): Problem | null =>
  tracked.includes(path)
    ? problem(
        'target_missing',
        `${path} is tracked by git but outside the sparse checkout (skip-worktree)`,
        CHECK_OUT,
      )
    : null;
