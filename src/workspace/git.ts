/** Git as a child process: no shell, fixed environment, byte output, git's own words in a Problem. */
import { realpath } from 'node:fs/promises';

import { execa } from 'execa';

import { problem, ProblemError } from '../shared/problems.js';
import { withoutSecrets } from './runner-env.js';
import type { Result } from './types.js';

/** Largest output taken from one git call: a blob of the largest file, and room to spare. */
const MAX_OUTPUT_BYTES = 1024 ** 3;
const MAX_MESSAGE_CHARS = 2_000;

export interface GitCall {
  readonly cwd: string;
  /** Added to the fixed environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: Uint8Array | string;
  /** Exit codes that are answers, not failures. Default: 0 only. */
  readonly accept?: readonly number[];
  /** Take no optional locks: the call only reads. */
  readonly reading?: boolean;
  /** For the commands that refuse `--literal-pathspecs` (check-ignore). */
  readonly noLiteral?: boolean;
}
export interface GitOutput {
  readonly code: number;
  readonly bytes: Uint8Array;
  /** The bytes as UTF-8. */
  readonly text: string;
}

/** Variables of a calling git (we may run inside a hook) would point us at another repository or index. Configuration stays. */
const KEPT_GIT_NAMES = /^GIT_(CONFIG|EXEC_PATH$|TEMPLATE_DIR$|CEILING_DIRECTORIES$|DISCOVERY_ACROSS_FILESYSTEM$)/;

/** The environment of every git process and hook: no secrets, no prompts, English messages. */
export function gitEnvironment(added: Readonly<Record<string, string>> = {}): Record<string, string> {
  const inherited = Object.entries(withoutSecrets(process.env)).filter(
    ([name]) => !name.startsWith('GIT_') || KEPT_GIT_NAMES.test(name),
  );
  return { ...Object.fromEntries(inherited), GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: ':', LC_ALL: 'C', ...added };
}

/** Runs git; paths among `args` are taken literally. A failure is a `git_failed` with git's message. */
export async function git(args: readonly string[], call: GitCall): Promise<Result<GitOutput>> {
  const run = await execa(
    'git',
    [...(call.noLiteral ? [] : ['--literal-pathspecs']), '-c', 'core.quotepath=off', ...args],
    {
      cwd: call.cwd,
      env: gitEnvironment({ ...(call.reading ? { GIT_OPTIONAL_LOCKS: '0' } : {}), ...call.env }),
      extendEnv: false,
      encoding: 'buffer',
      reject: false,
      stripFinalNewline: false,
      maxBuffer: MAX_OUTPUT_BYTES,
      ...(call.input === undefined ? { stdin: 'ignore' as const } : { input: call.input }),
    },
  );
  if (run.exitCode === undefined || !(call.accept ?? [0]).includes(run.exitCode)) {
    const said = Buffer.from(run.stderr).toString('utf8').trim().slice(-MAX_MESSAGE_CHARS);
    const why = said !== '' ? said : (run.originalMessage ?? `exit ${run.exitCode ?? run.signal ?? 'unknown'}`);
    return { ok: false, problem: problem('git_failed', `git ${commandOf(args)} in ${call.cwd}: ${why}`) };
  }
  const bytes = run.stdout;
  return {
    ok: true,
    value: {
      code: run.exitCode,
      bytes,
      get text() {
        return Buffer.from(bytes).toString('utf8');
      },
    },
  };
}

/** As `git`, the text without its last line end. */
export async function gitLine(args: readonly string[], call: GitCall): Promise<Result<string>> {
  const run = await git(args, call);
  return run.ok ? { ok: true, value: run.value.text.replace(/\n$/, '') } : run;
}

/** Fields of a `-z` output. */
export const fieldsOf = (output: GitOutput): string[] => output.text.split('\0').filter((field) => field !== '');

/** `-c name=value` pairs stand before the command's name. */
const commandOf = (args: readonly string[]): string =>
  args.find((arg, i) => arg !== '-c' && args[i - 1] !== '-c') ?? '';

export interface Repository {
  /** Real path of the working tree's top. */
  readonly root: string;
  /** Absolute git directory of this working tree (of a linked worktree: its own). */
  readonly gitDir: string;
  /** The directory asked for, relative to `root`: '' or ending in `/`. */
  readonly prefix: string;
  /** Commit that HEAD names; null on a branch without commits. */
  readonly head: string | null;
  /** Branch ref that HEAD points to; null when detached. */
  readonly headRef: string | null;
}

/**
 * The repository whose working tree holds `dir`, or null where there is none (a bare repository or a git directory counts as none).
 * Throws ProblemError `git_failed` where git cannot tell: not installed, `dir` absent, another owner's repository.
 */
export async function repositoryOf(dir: string): Promise<Repository | null> {
  const call: GitCall = { cwd: dir, reading: true };
  const top = await gitLine(['rev-parse', '--show-toplevel'], call);
  if (!top.ok) {
    if (/not a git repository|must be run in a work tree/.test(top.problem.message)) return null;
    throw new ProblemError(top.problem);
  }
  const [gitDir, prefix, head, headRef, root] = await Promise.all([
    gitLine(['rev-parse', '--absolute-git-dir'], call),
    gitLine(['rev-parse', '--show-prefix'], call),
    git(['rev-parse', '--quiet', '--verify', 'HEAD^{commit}'], { ...call, accept: [0, 1] }),
    git(['symbolic-ref', '--quiet', 'HEAD'], { ...call, accept: [0, 1] }),
    realpath(top.value),
  ]);
  const line = (output: GitOutput): string | null => (output.code === 0 ? output.text.trim() : null);
  return {
    root,
    gitDir: valueOf(gitDir),
    prefix: valueOf(prefix),
    head: line(valueOf(head)),
    headRef: line(valueOf(headRef)),
  };
}

/** Is `dir` in a working tree of git? Throws ProblemError `git_failed` where git cannot tell (no git, another owner's repository). */
export async function isWorkTree(dir: string): Promise<boolean> {
  const inside = await gitLine(['rev-parse', '--is-inside-work-tree'], { cwd: dir, reading: true });
  if (!inside.ok && inside.problem.message.includes('not a git repository')) return false;
  return valueOf(inside) === 'true';
}

/** The value, or the problem thrown as a ProblemError: for sequences that one `catch` turns into an outcome. */
export function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new ProblemError(result.problem);
  return result.value;
}
