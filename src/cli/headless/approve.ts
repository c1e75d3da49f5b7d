/** Reads a review policy and approves by it. */
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { createHash } from 'node:crypto';
import { readYaml } from '../../documents/source/yaml.js';
import { foldedName, isRecord } from '../../shared/text.js';
import type { DecisionPoint } from '../../shared/decisions.js';
import { fail, problem, ProblemsError } from '../../shared/problems.js';
import { shownKey } from '../../shared/ids.js';
import type { StepStatus, StepResult } from '../../shared/run.js';
import { createLocalRunner } from '../../workspace/commands/index.js';
import type { Io } from '../io.js';
import type { Session } from '../session.js';
import { plain } from '../render/text.js';
import { captureProcess } from '../../system/capture.js';
import { childEnvironment } from '../../system/environment.js';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import { decide } from '../../client/runs/decide.js';
import type { ResolvedRun } from '../../client/runs/resolve.js';
import { showRun } from '../../client/runs/show.js';
import { evaluatePolicy, parsePolicy, ruleOf, type Policy } from '../../documents/job/index.js';
import { git, gitLine } from '../../workspace/git/index.js';

const NOTIFY_S = 30; // bound: A person's notify command.
const NOTIFY_OUTPUT_BYTES = 4_096; // bound: Of its output this much is kept.
const PUBLISH_MS = 120_000; // bound: git push and gh.
const GH_OUTPUT_BYTES = 64 * 1024; // bound: What gh says of a pull request.

/** Throws ProblemError `usage` (no such file) or ProblemsError `config_invalid` with everything that is wrong. */
export const readPolicy = async (path: string, cwd: string): Promise<Policy> => {
  const source =
    (await readGivenText(resolve(cwd, path), UNREADABLE)) ??
    fail('usage', `--policy ${path}: file not found or not readable.`, 'docs/headless.md describes policies.');
  const parsed = parsePolicy(source, relative(cwd, resolve(cwd, path)));
  if (parsed.ok) return parsed.value;
  const [first, ...others] = parsed.problems;
  throw new ProblemsError([first ?? problem('config_invalid', `${path}:1: cannot be read`), ...others]);
};

/** Approves where the proposal is within the policy's bounds (returns nothing), else says why not. Secrets are masked. */
export const approveBy =
  ({ io, emend }: Session, policy: Policy, path: string, quiet: boolean) =>
  async (run: ResolvedRun, decision: DecisionPoint): Promise<readonly string[]> => {
    if (decision.mustSign === true) return ['approvers are set: one of them must sign; a policy cannot'];
    const digest = createHash('sha256').update(JSON.stringify(policy)).digest('hex').slice(0, 12);
    const by = { name: `policy ${path} ${digest}`, from: 'policy' } as const;
    if (decision.reason === 'secret_found') {
      await decide(emend, run, { answer: 'mask', decision: decision.id, by });
      return [];
    }
    const { proposal, ledger, status } = await showRun(emend, run);
    const looked = proposal?.id === decision.proposalId ? proposal : null;
    if (looked === null) return ['the proposal could not be read'];
    // A workspace that is gone, or another machine's, holds no policy of ours.
    const workspace = await realpath(status.workspace).catch(() => status.workspace);
    const own = foldedName(relative(workspace, await realpath(resolve(io.cwd, path))));
    const why = [
      ...looked.files
        .filter((file) => foldedName(file.path) === own)
        .map((file) => `${file.path} is the policy itself`),
      ...evaluatePolicy(policy, looked, ledger),
    ];
    if (why.length > 0) return why;
    const result = await decide(emend, run, {
      answer: 'approve',
      decision: decision.id,
      note: `within ${ruleOf(policy)}`,
      by,
    });
    if (!quiet) io.out(plain(`approved by the policy ${path}: ${result.message}`));
    return [];
  };

// `notify:` a person's own command, run at each decision point by the command that follows the run. It comes from the person's own
// settings and from nowhere else: a file in a workspace may be a model's work. It sees no key of ours; whatever becomes of it, the run goes on.

/** The command, from `EMEND_NOTIFY` or `notify:` of the person's `config.yaml`; null: none. Throws where that file cannot be read. */
export const notifyCommand = async ({ env }: Pick<Io, 'env'>): Promise<string | null> => {
  if ((env.EMEND_NOTIFY ?? '') !== '') return env.EMEND_NOTIFY ?? null;
  const config = env.XDG_CONFIG_HOME ?? '';
  const path = join(config === '' ? join(env.HOME ?? homedir(), '.config') : config, 'emend', 'config.yaml');
  const source = await readGivenText(path, UNREADABLE);
  if (source === null) return null;
  const yaml = readYaml(source, 0);
  const next = 'Its only key is `notify`: a command.';
  if (!yaml.ok) return fail('config_invalid', `${path}:${yaml.faults[0]?.line ?? 1}: bad YAML`, next);
  const map = yaml.value ?? {};
  const strange = isRecord(map) ? Object.keys(map).find((key) => key !== 'notify') : '';
  const notify = isRecord(map) ? (map.notify ?? null) : null;
  if (strange !== undefined) return fail('config_invalid', `${path}:1: ${strange}: unknown key`, next);
  if (notify !== null && typeof notify !== 'string')
    return fail('config_invalid', `${path}:${yaml.lineOf(['notify'])}: notify: expected a command, as text`, next);
  return notify;
};

/** Never throws. What went wrong is a line on stderr. */
export const notify = async (
  io: Io,
  command: string,
  { stepKey, workspace, jobPath, title }: Pick<StepStatus, 'stepKey' | 'workspace' | 'jobPath' | 'title'>,
  decision: DecisionPoint,
): Promise<void> => {
  const run = shownKey(stepKey);
  const about = {
    NOTIFY_RUN: run,
    NOTIFY_DECISION: decision.id,
    NOTIFY_REASON: decision.reason,
    NOTIFY_MESSAGE: decision.message,
    NOTIFY_WORKSPACE: workspace,
    NOTIFY_JOB: jobPath,
    NOTIFY_TITLE: title,
    NOTIFY_COMMAND: `emend review ${run}`,
  };
  try {
    const ran = await createLocalRunner(io.env).run({
      command,
      sandbox: 'off', // a person's, from their own settings, on nothing that a model wrote
      cwd: io.cwd,
      env: [],
      more: about,
      timeout_s: NOTIFY_S,
      maxOutput_bytes: NOTIFY_OUTPUT_BYTES,
    });
    if (ran.exit !== 0) io.err(plain(`The notify command ended with ${String(ran.exit)}: ${ran.output.trim()}`));
  } catch (error) {
    io.err(plain(`The notify command could not be run: ${error instanceof Error ? error.message : String(error)}`));
  }
};

// Puts a run's commit on a branch of a remote, and opens a draft pull request, where a person asked for it on the command line.

export interface Publishing {
  /** Branch on the remote. */
  readonly branch: string;
  readonly remote: string;
  /** Open a draft pull request with `gh`. */
  readonly pullRequest: boolean;
}

/** Throws ProblemError `usage`: git takes no such branch name. Asked before anything is started. */
export const checkBranch = async ({ branch }: Publishing, cwd: string): Promise<void> => {
  const checked = await git(['check-ref-format', '--branch', branch], { cwd });
  if (!checked.ok)
    fail('usage', `--push ${branch.slice(0, 100)}: not a valid branch name.`, 'Example: --push emend/greet.');
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
    io.err('Nothing was committed, so nothing was pushed.');
    return;
  }
  const again = `Push it yourself: git push ${remote} ${commit.slice(0, 12)}:refs/heads/${branch}`;
  // A hook runs what lies in the workspace, which may be a model's; to push without it may be worse (git-lfs sends its files there).
  const hook = await gitLine(['rev-parse', '--git-path', 'hooks/pre-push'], { cwd: workspace, hooks: true });
  if (hook.ok && existsSync(resolve(workspace, hook.value)))
    fail(
      'git_failed',
      `There is a pre-push hook (${hook.value}), which Emend does not run: nothing was pushed.`,
      again,
    );
  // Never forced: a branch that has gone on is a person's to look at.
  const args = ['push', remote, `${commit}:refs/heads/${branch}`];
  const pushed = await git(args, { cwd: workspace, timeout_ms: PUBLISH_MS });
  if (!pushed.ok) fail('git_failed', pushed.problem.message, again);
  io.err(plain(`pushed ${commit.slice(0, 12)} to ${branch} of ${remote}`));
  if (!pullRequest) return;
  const body = `Created by \`emend run\` (${run}), approved and ${result.verification === null ? 'not tested' : `tested: ${result.verification}`}.`;
  const create = ['pr', 'create', '--draft', '--head', branch, '--title', title, '--body', body];
  const env = { ...childEnvironment(io.env, ['gh', 'git', 'remote']), GH_PROMPT_DISABLED: '1' };
  const call = { cwd: workspace, env, timeout_ms: PUBLISH_MS, max_bytes: GH_OUTPUT_BYTES };
  const { code, failure, stdout, stderr } = await captureProcess('gh', create, call);
  const output = `${stdout.toString()}${stderr.toString()}`.trim();
  if (failure?.includes('ENOENT') === true)
    fail(
      'git_failed',
      'Cannot open a pull request: `gh` is not installed.',
      `The branch ${branch} is pushed; open it from there.`,
    );
  if (code !== 0)
    fail('git_failed', `gh pr create: ${output || (failure ?? 'it was killed')}`, `The branch ${branch} is pushed.`);
  io.err(plain(output));
};
