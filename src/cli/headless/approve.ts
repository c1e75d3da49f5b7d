/** Reads a review policy and approves by it. */
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { readMap } from '../../documents/source/check.js';
import { text } from '../../documents/source/schemas.js';
import { foldedName, shellWord } from '../../shared/text.js';
import { resolveHome } from '../../stores/home.js';
import { contentHash, createTrust } from '../../workspace/trust/index.js';
import type { DecisionPoint } from '../../shared/decisions.js';
import { fail, failAll, nullOn, ProblemError, valueOf } from '../../shared/problems.js';
import { shownKey } from '../../shared/ids.js';
import type { StepStatus, StepResult } from '../../shared/run.js';
import { createLocalRunner } from '../../workspace/commands/index.js';
import type { Io } from '../io.js';
import type { Session } from '../session.js';
import { line, plain } from '../render/text.js';
import { captureOwn } from '../../system/own-program.js';
import { ownPath } from '../../system/programs.js';
import { isCommitId, type RepositoryBase } from '../../shared/repository.js';
import { readGivenText, readSettings, UNREADABLE } from '../../system/given-file.js';
import { decide } from '../../client/runs/decide.js';
import type { ResolvedRun } from '../../client/runs/resolve.js';
import { showRun } from '../../client/runs/show.js';
import { evaluatePolicy, parsePolicy, ruleOf, type Policy } from '../../documents/job/index.js';
import {
  fileAtCommit,
  git,
  gitLine,
  placeInRepository,
  variablesForTool,
} from '../../workspace/git/index.js';

const NOTIFY_S = 30; // bound: A person's notify command.
const NOTIFY_OUTPUT_BYTES = 4_096; // bound: Of its output this much is kept.
const PUBLISH_MS = 120_000; // bound: git push, one call of gh, or of a person's command in place of it.
const TITLE_CHARS = 256; // bound: GitHub refuses a pull request with a longer title.
const TOOL_OUTPUT_BYTES = 8 * 1024 * 1024; // bound: What that prints.
const TOOL_ERROR_CHARS = 2_000; // bound: Of what it says where it fails.

/** A commit of the repository around a directory. */
export interface PolicySource {
  readonly directory: string;
  readonly commit: string;
}

/** Throws ProblemError `usage` (no such file) or ProblemsError `config_invalid` with everything that is wrong. */
export const readPolicy = async (
  path: string,
  cwd: string,
  from: PolicySource | null = null,
): Promise<{ readonly policy: Policy; readonly source: string }> => {
  const source =
    (await policyText(resolve(cwd, path), from)) ??
    fail(
      'usage',
      `--policy ${path}: file not found or not readable.`,
      'docs/headless.md describes policies.',
    );
  return { policy: valueOf(parsePolicy(source, relative(cwd, resolve(cwd, path)))), source };
};

/** Reads a policy of the repository as the commit has it, and any other from the disk. */
async function policyText(path: string, from: PolicySource | null): Promise<string | null> {
  const text = await readGivenText(path, UNREADABLE);
  if (from === null || text === null) return text;
  const place = await placeInRepository(from.directory, path);
  if (place === null) return text;
  const file = await fileAtCommit(place.root, from.commit, place.path);
  return file?.bytes.toString('utf8') ?? null;
}

/** Returns why the policy does not count: a model may have written it. Null: it counts. */
async function policyDoubt(
  { env, cwd }: Io,
  workspace: string,
  { path, source }: { readonly path: string; readonly source: string },
): Promise<string | null> {
  const inside = relative(workspace, await realpath(resolve(cwd, path)));
  if (inside.startsWith('..') || isAbsolute(inside)) return null;
  const trust = createTrust({ home: await resolveHome(env) });
  const file = { path: inside, kind: 'policy', text: source, hash: contentHash(source) } as const;
  const [doubt] = await trust.doubts(workspace, [file]);
  return doubt === undefined
    ? null
    : `${path}: ${doubt.reason}. Read it, then type: emend trust ${shellWord(path)}`;
}

/** Somebody else was faster. */
const tooLate = nullOn('answer_not_accepted');
/** Approves where the proposal is within the policy's bounds (returns nothing), else says why not. Secrets are masked. */
export const approveBy =
  (
    { io, emend }: Session,
    { policy, source }: Awaited<ReturnType<typeof readPolicy>>,
    path: string,
    quiet: boolean,
  ) =>
  async (run: ResolvedRun, decision: DecisionPoint): Promise<readonly string[]> => {
    if (decision.mustSign === true)
      return ['approvers are set: one of them must sign; a policy cannot'];
    const digest = createHash('sha256').update(JSON.stringify(policy)).digest('hex').slice(0, 12);
    const by = { name: `policy ${path} ${digest}`, from: 'policy' } as const;
    if (decision.reason === 'secret_found') {
      await decide(emend, run, { answer: 'mask', decision: decision.id, by }).catch(tooLate);
      return [];
    }
    const { proposal, ledger, status } = await showRun(emend, run);
    const looked = proposal?.id === decision.proposalId ? proposal : null;
    if (looked === null) return ['the proposal could not be read'];
    // A workspace that is gone, or another machine's, holds no policy of ours.
    const workspace = await realpath(status.workspace).catch(() => status.workspace);
    const doubt = await policyDoubt(io, workspace, { path, source });
    if (doubt !== null) return [doubt];
    const own = foldedName(relative(workspace, await realpath(resolve(io.cwd, path))));
    const why = [
      ...looked.files
        .filter((file) => foldedName(file.path) === own)
        .map((file) => `${file.path} is the policy itself`),
      ...evaluatePolicy(policy, looked, ledger),
    ];
    if (why.length > 0) return why;
    const note = `within ${ruleOf(policy)}`;
    const result = await decide(emend, run, {
      answer: 'approve',
      decision: decision.id,
      note,
      by,
    }).catch(tooLate);
    if (!quiet && result !== null)
      io.out(plain(`approved by the policy ${path}: ${result.message}`));
    return [];
  };

// `notify:` a person's own command, run at each decision point by the command that follows the run. It comes from the person's own
// settings and from nowhere else: a file in a workspace may be a model's work. It sees no key of ours; whatever becomes of it, the run goes on.

const PERSONAL = {
  notify: text('a command, as text'),
  review_comments: z
    .array(text('an argument'), { error: 'a command and its arguments, as a list of texts' })
    .min(1),
};

/** What a person sets for themselves in `config.yaml`. Throws ProblemsError `config_invalid`, or why the file cannot be read. */
export const personalSettings = async ({ env }: Pick<Io, 'env'>) => {
  const config = env.XDG_CONFIG_HOME ?? '';
  const path = join(
    isAbsolute(config) ? config : join(env.HOME ?? homedir(), '.config'),
    'emend',
    'config.yaml',
  );
  // Where no home is known it would be a file of the workspace.
  if (!isAbsolute(path)) return {};
  const read = readMap((await readSettings(path)) ?? '', PERSONAL, {
    file: path,
    code: 'config_invalid',
  });
  const next = 'Fix the named line of that file; docs/headless.md lists its keys.';
  failAll((read.ok ? read.findings.problems : read.problems).map((each) => ({ next, ...each })));
  return read.ok ? read.keys : {};
};

/** The command, from `EMEND_NOTIFY`, else from the person's settings; null: none. */
export const notifyCommand = async (io: Pick<Io, 'env'>): Promise<string | null> =>
  (io.env.EMEND_NOTIFY ?? '') !== ''
    ? (io.env.EMEND_NOTIFY ?? null)
    : ((await personalSettings(io)).notify ?? null);

/** Never throws. What went wrong is a line on stderr. */
export const notify = async (
  io: Io,
  command: string,
  {
    stepKey,
    workspace,
    jobPath,
    title,
  }: Pick<StepStatus, 'stepKey' | 'workspace' | 'jobPath' | 'title'>,
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
      isPersonal: true,
      sandbox: 'off', // a person's, from their own settings, on nothing that a model wrote
      cwd: io.cwd,
      env: [],
      // It runs outside a sandbox: a program that a model wrote in the workspace must not take the place of one that it names.
      more: { ...about, PATH: ownPath(io.env) },
      timeout_s: NOTIFY_S,
      maxOutput_bytes: NOTIFY_OUTPUT_BYTES,
    });
    if (ran.exit !== 0)
      io.err(plain(`The notify command ended with ${String(ran.exit)}: ${ran.output.trim()}`));
  } catch (error) {
    io.err(
      plain(
        `The notify command could not be run: ${error instanceof Error ? error.message : String(error)}`,
      ),
    );
  }
};

// Puts a run's commit on a branch of a remote, and opens a draft pull request, where a person asked for it on the command line.

export interface Publishing {
  readonly branch: string;
  readonly remote: string;
  /** Open a draft pull request with `gh`. */
  readonly pullRequest: boolean;
  /** The run has pushed the branch itself. */
  readonly repository?: RepositoryBase;
}

/** Throws ProblemError `usage`: git takes no such branch name. Asked before anything is started. */
export const checkBranch = async ({ branch }: Publishing, cwd: string): Promise<void> => {
  const checked = await git(['check-ref-format', '--branch', branch], { cwd });
  if (!checked.ok)
    fail(
      'usage',
      `--push ${branch.slice(0, 100)}: not a valid branch name.`,
      'Example: --push emend/greet.',
    );
};

/** Throws ProblemError `git_failed` with the tool's words; the commit is made either way. */
export const publish = async (
  io: Io,
  result: StepResult,
  { branch, remote, pullRequest, repository }: Publishing,
  about: Readonly<Record<'workspace' | 'title' | 'run', string>> & { readonly plan?: boolean },
): Promise<void> => {
  const { workspace, title, run, plan = false } = about;
  const { commit, verification, outcome } = result;
  if (commit === null) {
    io.err('Nothing was committed, so nothing was pushed.');
    return;
  }
  if (repository === undefined) await pushFrom(io, commit, { branch, remote }, workspace);
  if (!pullRequest) return;
  const tested = verification === null ? 'not tested' : `tested: ${verification}`;
  const made = plan
    ? `\`emend plan run\` (${run}): ${outcome}`
    : `\`emend run\` (${run}), approved and ${tested}`;
  const body = `Created by ${made}.`;
  const base =
    repository === undefined || isCommitId(repository.base) ? [] : ['--base', repository.base];
  const where = repository === undefined ? [] : ['--repo', repository.url, ...base];
  const words = ['--title', line(title, TITLE_CHARS), '--body', body];
  const create = ['pr', 'create', '--draft', ...where, '--head', branch, ...words];
  const whenNot = { what: 'Cannot open a pull request', next: `The branch ${branch} is pushed.` };
  const cwd = repository === undefined ? workspace : io.cwd;
  const told = await callTool(io, cwd, ['gh', ...create], whenNot).catch((error: unknown) => {
    // Of a plan that goes on at its branch.
    if (error instanceof ProblemError && error.message.includes('already exists'))
      return error.message;
    throw error;
  });
  io.err(plain(told.trim()));
};

async function pushFrom(
  io: Io,
  commit: string,
  { branch, remote }: Pick<Publishing, 'branch' | 'remote'>,
  workspace: string,
): Promise<void> {
  const again = `Push it yourself: git push ${remote} ${commit.slice(0, 12)}:refs/heads/${branch}`;
  // A hook runs what lies in the workspace, which may be a model's; to push without it may be worse (git-lfs sends its files there).
  const hook = await gitLine(['rev-parse', '--git-path', 'hooks/pre-push'], {
    cwd: workspace,
    hooks: true,
  });
  if (hook.ok && existsSync(resolve(workspace, hook.value)))
    fail(
      'git_failed',
      `There is a pre-push hook (${hook.value}), which Emend does not run: nothing was pushed.`,
      again,
    );
  // Never forced: a branch that has gone on is a person's to look at.
  const args = ['push', '--no-follow-tags', remote, `${commit}:refs/heads/${branch}`];
  const pushed = await git(args, { cwd: workspace, timeout_ms: PUBLISH_MS });
  if (!pushed.ok) {
    // Your own push would run the program that Emend did not.
    if (pushed.problem.code === 'git_program') throw new ProblemError(pushed.problem);
    fail('git_failed', pushed.problem.message, again);
  }
  io.err(plain(`pushed ${commit.slice(0, 12)} to ${branch} of ${remote}`));
}

/** What cannot be done where it fails, what to do then, and variables of its own. */
type ToolCall = Readonly<Record<'what' | 'next', string>> & {
  readonly env?: Readonly<Record<string, string>>;
};
/** What `gh` says, or a command of the person's in place of it. Throws ProblemError `git_failed` with its words. */
export const callTool = async (
  io: Io,
  cwd: string,
  [file = '', ...args]: readonly string[],
  how: ToolCall,
) => {
  const call = {
    cwd,
    env: io.env,
    kinds: ['gh', 'git', 'remote'] as const,
    more: { GH_PROMPT_DISABLED: '1', ...(await variablesForTool(cwd)), ...how.env },
    timeout_ms: PUBLISH_MS,
    max_bytes: TOOL_OUTPUT_BYTES,
  };
  const { code, failure, isMissing, stdout, stderr } = await captureOwn(file, args, call);
  if (code === 0) return stdout.toString();
  const said = stderr.toString().slice(0, TOOL_ERROR_CHARS).trim() || (failure ?? 'it was killed');
  const why = isMissing ? said : plain(`${file}: ${said}`);
  return fail('git_failed', `${how.what}: ${why}`, how.next);
};
