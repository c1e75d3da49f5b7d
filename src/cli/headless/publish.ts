/** Puts a run's commit on a branch of a remote, and opens a draft pull request, where a person asked for it on the command line. */
import { execFile } from 'node:child_process';
import { SHOWN_BOUNDS } from '../../shared/bounds.js';
import { fail } from '../../shared/problems.js';
import type { StepResult } from '../../shared/protocol.js';
import { git } from '../../workspace/git.js';
import type { Io } from '../io.js';
import { plain } from '../render/text.js';

export interface Publishing {
  /** Branch on the remote. */
  readonly branch: string;
  readonly remote: string;
  /** Open a draft pull request with `gh`. */
  readonly pullRequest: boolean;
}

interface Ran {
  readonly ok: boolean;
  readonly missing: boolean;
  readonly output: string;
}

const gh = (args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Ran> =>
  new Promise((resolve) => {
    execFile(
      'gh',
      [...args],
      { cwd, env, timeout: SHOWN_BOUNDS.publish_ms, encoding: 'utf8' },
      (error, stdout, stderr) => {
        resolve({ ok: error === null, missing: error?.code === 'ENOENT', output: `${stdout}${stderr}`.trim() });
      },
    );
  });

/** Throws ProblemError `usage`: git takes no such branch name. Asked before anything is started. */
export const checkBranch = async ({ branch }: Publishing, cwd: string): Promise<void> => {
  const checked = await git(['check-ref-format', '--branch', branch], { cwd });
  if (!checked.ok)
    fail('usage', `--push ${branch.slice(0, 100)}: git takes no such name of a branch.`, 'As in --push emend/greet.');
};

/** Throws ProblemError `git_failed` with the tool's words; the commit is made either way. */
export const publish = async (
  io: Io,
  result: StepResult,
  { branch, remote, pullRequest }: Publishing,
  { workspace, title, run }: { readonly workspace: string; readonly title: string; readonly run: string },
): Promise<void> => {
  const { commit } = result;
  if (commit === null) {
    io.err('Nothing was committed, so nothing is pushed.');
    return;
  }
  const again = `Push it yourself: git push ${remote} ${commit.slice(0, 12)}:refs/heads/${branch}`;
  // Never forced: a branch that has gone on is a person's to look at.
  const args = ['push', remote, `${commit}:refs/heads/${branch}`];
  const pushed = await git(args, { cwd: workspace, timeout_ms: SHOWN_BOUNDS.publish_ms });
  if (!pushed.ok) fail('git_failed', pushed.problem.message, again);
  io.err(plain(`pushed ${commit.slice(0, 12)} to ${branch} of ${remote}`));
  if (!pullRequest) return;
  const body = `Made by \`emend run\` (${run}), approved and ${result.verification === null ? 'not tested' : `tested: ${result.verification}`}.`;
  const create = ['pr', 'create', '--draft', '--head', branch, '--title', title, '--body', body];
  // gh needs its token; it is the person's tool and no model's.
  const opened = await gh(create, workspace, { ...io.env, GH_PROMPT_DISABLED: '1' });
  if (opened.missing)
    fail(
      'git_failed',
      'There is no `gh` to open a pull request with.',
      `The branch ${branch} is pushed; open it from there.`,
    );
  if (!opened.ok) fail('git_failed', `gh pr create: ${opened.output}`, `The branch ${branch} is pushed.`);
  io.err(plain(opened.output));
};
