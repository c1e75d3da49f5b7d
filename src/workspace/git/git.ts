/** Git as a child process: no shell, fixed environment, byte output, git's own words in a Problem. */
import { dirname, join, relative, resolve } from 'node:path';
import { fail, problem, ProblemError } from '../../shared/problems.js';
import { captureProcess, runProcess } from '../../system/launcher.js';
import { childEnvironment, type Environment } from '../../system/environment.js';
import {
  findProgram,
  findPrograms,
  learnAround,
  ownEnvironment,
  programPath,
} from '../../system/programs.js';
import { repositoryAround } from '../../system/known-workspaces.js';
import { lstat, realpath } from '../../system/fs.js';
import { readGiven } from '../../system/given-file.js';
import type { ProcessOutcome, ProcessRequest } from '../../system/process-group.js';
import { timeFor } from '../../system/time-limit.js';
import type { Result } from '../ports.js';
import { failIfForeign } from './git-file.js';
import { guardOf, SPEAKS_TO_REMOTE, type Guard } from './program-guard.js';
import { sharedGitDirectory } from './shared-directory.js';
import { endIfWaiting, pipeProblem } from './waiting-pipe.js';
import { readSettings, type AskGit, type GitSettings, type GitVariables } from './read-settings.js';

const GIT_OUTPUT_BYTES = 1024 ** 3; // bound: Largest output taken from one git call: a blob of the largest file, and room to spare.
// bound: One git call: a listing, merge or commit in the largest repositories takes seconds. Longer is a prompt, a monitor, a dead mount.
export const GIT_MS = 120_000;
const STALLED_S = 300; // bound: A remote over HTTP that sends less than a byte a second for so long is given up.
const STALLED = { GIT_HTTP_LOW_SPEED_LIMIT: '1', GIT_HTTP_LOW_SPEED_TIME: String(STALLED_S) };
const GIT_MESSAGE_CHARS = 2_000; // bound: What git says on failing.
const REF_BYTES = 4_096; // bound: A file of git's that names a commit or a branch.
const REMEMBERED_PLACES = 1_000; // bound: Directories of which this process remembers git's answer.

export interface GitCall {
  readonly cwd: string;
  /** Added to the fixed environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: Uint8Array | string;
  /** Exit codes that are answers, not failures. Default: 0 only. */
  readonly accept?: readonly number[];
  /** Take no optional locks: the call only reads. */
  readonly reading?: boolean;
  /** The call's pathspecs are patterns, or its command refuses `--literal-pathspecs`. */
  readonly noLiteral?: boolean;
  /** Default: `git_ms`. */
  readonly timeout_ms?: number;
  /** One that writes more fails. Default: `GIT_OUTPUT_BYTES`. */
  readonly max_bytes?: number;
  /** Environment whose pager, editor and other settings git uses; default: none, as no terminal is there. */
  readonly environment?: Environment;
  /** The call looks for your own hooks, or runs them. */
  readonly hooks?: true;
}
export interface GitOutput {
  readonly code: number;
  readonly bytes: Uint8Array;
  /** The bytes as UTF-8. */
  readonly text: string;
}

/** No prompt (of git, a helper with a window, or ssh), no editor, no pager: nobody is there to answer. */
export const NOBODY_THERE = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '',
  SSH_ASKPASS_REQUIRE: 'never',
  GIT_EDITOR: ':',
  GIT_SEQUENCE_EDITOR: ':',
  GIT_PAGER: 'cat',
};
/**
 * Git runs no program that a repository's configuration names: a file-system monitor, a hook, a check of each signature that a log shows.
 * A directory that looks like a bare repository is none, and a repository below the working tree is not entered: their files, and with them
 * their configuration, may be a model's.
 */
export const ALWAYS = [
  'core.fsmonitor=false',
  'log.showSignature=false',
  'safe.bareRepository=explicit',
  'diff.ignoreSubmodules=all',
  'submodule.recurse=false',
].flatMap((setting) => ['-c', setting]);
/** How a person's git quotes names, parts trailers and encodes logs is for them; we read what it says in one way. */
const AS_READ = [
  'core.quotepath=off',
  'trailer.separators=:',
  'i18n.commitEncoding=UTF-8',
  'i18n.logOutputEncoding=UTF-8',
].flatMap((setting) => ['-c', setting]);
const NO_HOOKS = ['-c', 'core.hooksPath=/dev/null'];

/** These sign, speak to a remote, or start git-lfs, which does. */
const REMOTE = /^((commit|merge|write|read|ls|diff)-tree|push|fetch|ls-remote|cat-file|worktree)$/;

const gitVariables = (args: readonly string[]): Record<string, string> =>
  REMOTE.test(commandOf(args))
    ? { ...STALLED, ...ownEnvironment(process.env, ['git', 'gitSettings', 'remote']) }
    : ownEnvironment(process.env, ['git', 'gitSettings']);

/** No prompts, English messages. */
const gitEnvironment = (
  given: Readonly<Record<string, string>>,
  added: Readonly<Record<string, string>> = {},
): Record<string, string> => ({ ...given, ...NOBODY_THERE, LC_ALL: 'C', ...added });

const PROTOCOLS = 'file:git:http:https:ssh';
const protocolsFor = (command: string): Record<string, string> => ({
  // Any other call would fetch what a partial clone lacks, by programs and protocols of its configuration. Before git 2.45 only the list of
  // protocols prevents that.
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: SPEAKS_TO_REMOTE.test(command)
    ? (process.env.GIT_ALLOW_PROTOCOL ?? PROTOCOLS)
    : 'none',
});

/** No setting of git names a program that these start. */
const RUNS_NO_PROGRAM =
  /^(?:--version|version|rev-parse|config|symbolic-ref|check-ref-format|for-each-ref|update-ref|mktree|init|ls-tree|ls-files|check-ignore|check-attr|rev-list|merge-base|read-tree|write-tree|remote)$/;
const runsNoProgram = (command: string, args: readonly string[]): boolean => {
  const has = (option: string): boolean => args.some((arg) => arg.startsWith(option));
  switch (command) {
    case 'hash-object':
      return has('--no-filters') || !(has('--path') || has('--stdin-paths'));
    case 'cat-file':
      return !(has('--filters') || has('--textconv'));
    case 'commit-tree':
      return !has('-S');
    default:
      return RUNS_NO_PROGRAM.test(command);
  }
};
/** These would run a converter or a comparing program for the text that they show. */
const SHOWS_CHANGES = /^(?:log|diff-tree)$/;

/** Returns all settings that count for git in a directory, with their files. */
export function gitSettings({
  cwd,
  env = gitVariables([]),
  environment,
}: Pick<GitCall, 'cwd' | 'env' | 'environment'>): Promise<Result<GitSettings>> {
  const ask = (more: GitVariables): AskGit => {
    const own = { ...(env.GIT_DIR === undefined ? {} : { GIT_DIR: env.GIT_DIR }), ...more };
    const shared = { cwd, env: own, ...(environment === undefined ? {} : { environment }) };
    return (question, accept) => git(question, { ...shared, accept, reading: true, hooks: true });
  };
  return readSettings(cwd, env, ask);
}

/**
 * Returns variables for another program that calls git in a directory, as `gh` does: its git runs no program of a workspace either.
 * Throws ProblemError `git_failed` if git's settings cannot be read.
 */
export async function variablesForTool(cwd: string): Promise<Record<string, string>> {
  const own = ownEnvironment(process.env, ['git', 'remote']);
  const settings = await gitSettings({ cwd, env: own });
  // Without git it calls none.
  if (!settings.ok && settings.problem.code === 'no_program') return {};
  // The tool compares files, and stores none.
  const command = 'status';
  const guard = valueOf(guardOf(valueOf(settings), { cwd, command, env: own }));
  const always = [...ALWAYS, ...NO_HOOKS].filter((option) => option !== '-c');
  const pairs = [
    ...always.map((setting) => setting.split('=') as [string, string]),
    ...guard.settings,
  ];
  const numbered = pairs.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    ...protocolsFor('push'),
    ...(guard.env.GIT_SSH_COMMAND === undefined
      ? {}
      : { GIT_SSH_COMMAND: guard.env.GIT_SSH_COMMAND }),
    GIT_CONFIG_COUNT: String(pairs.length),
    ...(Object.fromEntries(numbered) as Record<string, string>),
  };
}

interface Prepared {
  /** All arguments, in their order. */
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  readonly refusal: Guard['refusal'];
}
/** Returns the call in which git runs no program of a workspace, or the problem of one that cannot be made. */
async function prepare(
  args: readonly string[],
  options: readonly string[],
  call: Pick<GitCall, 'cwd' | 'environment'> & { readonly env: Record<string, string> },
): Promise<Result<Prepared>> {
  const command = commandOf(args);
  const env = { ...protocolsFor(command), ...call.env };
  if (runsNoProgram(command, args))
    return { ok: true, value: { args: [...options, ...args], env, refusal: () => null } };
  const settings = await gitSettings({ ...call, env });
  if (!settings.ok) return settings;
  const { cwd } = call;
  const guard = guardOf(settings.value, { cwd, command, env });
  if (!guard.ok) return guard;
  const afterCommand = args.indexOf(command) + 1;
  const shown = SHOWS_CHANGES.test(command) ? ['--no-textconv', '--no-ext-diff'] : [];
  return {
    ok: true,
    value: {
      args: [
        ...options,
        ...guard.value.options,
        ...args.slice(0, afterCommand),
        ...shown,
        ...args.slice(afterCommand),
      ],
      env: { ...env, ...guard.value.env },
      refusal: guard.value.refusal,
    },
  };
}

const environmentOf = (args: readonly string[], call: GitCall): Record<string, string> =>
  call.environment === undefined
    ? gitEnvironment(gitVariables(args), {
        ...(call.reading ? { GIT_OPTIONAL_LOCKS: '0' } : {}),
        ...call.env,
      })
    : { ...ownEnvironment(call.environment, ['git', 'gitSettings', 'terminal']), ...call.env };

/**
 * Runs git; paths among `args` are taken literally. A failure is a `git_failed` that names the command, with git's message, or a
 * `git_program` if git needs a program that is not the user's.
 */
export async function git(args: readonly string[], call: GitCall): Promise<Result<GitOutput>> {
  learnAround(call.cwd);
  const program = findProgram('git', call.environment);
  if ('problem' in program) return { ok: false, problem: program.problem };
  const own = [
    ...(call.noLiteral ? [] : ['--literal-pathspecs']),
    ...ALWAYS,
    ...(call.hooks ? [] : NO_HOOKS),
    ...AS_READ,
  ];
  const prepared = await prepare(args, own, { ...call, env: environmentOf(args, call) });
  if (!prepared.ok) return prepared;
  const { run, pipe } = await endIfWaiting(call.cwd, (signal) =>
    captureProcess(program.path, prepared.value.args, {
      cwd: call.cwd,
      env: prepared.value.env,
      timeout_ms: timeFor(call.timeout_ms ?? GIT_MS),
      max_bytes: call.max_bytes ?? GIT_OUTPUT_BYTES,
      signal,
      ...(call.input === undefined ? {} : { input: call.input }),
    }),
  );
  if (pipe !== null) return { ok: false, problem: pipeProblem(commandOf(args), call.cwd, pipe) };
  const refused = prepared.value.refusal(run.stderr.toString('utf8'));
  if (refused !== null) return { ok: false, problem: refused };
  if (run.code === null || !(call.accept ?? [0]).includes(run.code)) {
    const message = run.stderr.toString('utf8').trim().slice(-GIT_MESSAGE_CHARS);
    const parts = [run.failure ?? '', message].filter((part) => part !== '');
    const reason =
      parts.length > 0 ? parts.join('; ') : `exit ${run.code ?? run.signal ?? 'unknown'}`;
    return {
      ok: false,
      problem: problem('git_failed', `git ${commandOf(args)} in ${call.cwd}: ${reason}`),
    };
  }
  const { code, stdout: bytes } = run;
  return {
    ok: true,
    value: {
      code,
      bytes,
      get text() {
        return bytes.toString('utf8');
      },
    },
  };
}

interface GroupCall extends Omit<ProcessRequest, 'file' | 'args' | 'env'>, Pick<GitCall, 'env'> {
  /** It runs a hook, which gets what a command gets of our environment, and the variables of these names. */
  readonly hook?: { readonly names: readonly string[] };
}

/**
 * Runs git in a process group that ends with this process, however that ends. So a git that runs your programs, or fills a directory, does
 * not run at the same time as a retry. Throws ProblemError `git_program`.
 */
export const gitGroup = async (
  args: readonly string[],
  { env, hook, ...call }: GroupCall,
): Promise<ProcessOutcome> => {
  learnAround(call.cwd);
  const file = programPath('git');
  if (hook !== undefined) {
    const variables = childEnvironment(process.env, ['git'], hook.names);
    return runProcess({
      ...call,
      file,
      args: [...ALWAYS, ...args],
      env: gitEnvironment(variables, env),
    });
  }
  const prepared = valueOf(
    await prepare(args, [...ALWAYS, ...NO_HOOKS], {
      cwd: call.cwd,
      env: gitEnvironment(gitVariables(args), env),
    }),
  );
  const ran = await runProcess({ ...call, file, args: prepared.args, env: prepared.env });
  const refused = prepared.refusal(ran.output);
  if (refused !== null) throw new ProblemError(refused);
  return ran;
};

/** As `git`, the text without its last line end. */
export async function gitLine(args: readonly string[], call: GitCall): Promise<Result<string>> {
  const run = await git(args, call);
  return run.ok ? { ok: true, value: run.value.text.replace(/\n$/, '') } : run;
}

export const fieldsOf = (output: GitOutput): string[] =>
  output.text.split('\0').filter((field) => field !== '');

/** `-c name=value` pairs stand before the command's name. */
const commandOf = (args: readonly string[]): string =>
  args.find((arg, i) => arg !== '-c' && args[i - 1] !== '-c') ?? '';

export interface GitRepository {
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
export async function repositoryOf(dir: string): Promise<GitRepository | null> {
  const call: GitCall = { cwd: dir, reading: true };
  const place = await placeOf(call);
  return place === null
    ? null
    : { ...place, ...((await headIn(place.gitDir)) ?? (await headInParts(call))) };
}

/** As `repositoryOf`, and null if no git is installed. Throws ProblemError `no_program` if none is trusted. */
export const repositoryIfGit = async (dir: string): ReturnType<typeof repositoryOf> => {
  learnAround(dir);
  const { paths, skipped } = findPrograms('git');
  return paths.length + skipped.length === 0 ? null : repositoryOf(dir);
};

/** Top of the working tree that holds the directory, else the directory. Throws ProblemError `usage` of `outsideGit`. */
export const topOf = async (dir: string): Promise<string> =>
  (await repositoryOf(await outsideGit(dir)))?.root ?? dir;

/** The directory. Throws ProblemError `usage` where it is one of git's own. */
export const outsideGit = async (dir: string): Promise<string> =>
  (await gitDirectoryOf(dir)) === null
    ? dir
    : fail(
        'usage',
        `The workspace ${dir} is in a git directory, where nothing is edited.`,
        'Use a working tree.',
      );

/** The git directory that a real path lies in, by what git itself takes for one, whatever it is called; a working tree in it is not of it. */
export async function gitDirectoryOf(path: string): Promise<string | null> {
  for (let dir = path; ; dir = dirname(dir)) {
    const has = (name: string) => lstat(join(dir, name)).then(Boolean, () => false);
    if (
      (await has('HEAD')) &&
      ((await has('commondir')) || ((await has('objects')) && (await has('refs'))))
    )
      return dir;
    if (dir === dirname(dir) || (await has('.git'))) return null;
  }
}

/** Git's message where a directory is in no working tree. */
export const NO_WORK_TREE =
  /not a git repository|must be run in a work tree|cannot use bare repository/;
const PLACES = ['--show-toplevel', '--absolute-git-dir', '--show-prefix'];

async function placeOf(call: GitCall): Promise<Omit<GitRepository, keyof Head> | null> {
  const { cwd } = call;
  if (tops.has(cwd) && tops.get(cwd) === (await configOf(cwd))) {
    const root = await realpath(cwd);
    return { root, gitDir: join(root, '.git'), prefix: '' };
  }
  // Each child process costs more than what git does in it.
  const answer = await gitLine(['rev-parse', ...PLACES], call);
  if (!answer.ok && NO_WORK_TREE.test(answer.problem.message)) return null;
  let lines = valueOf(answer).split('\n');
  // A name may hold a line end.
  if (lines.length !== PLACES.length)
    lines = (await Promise.all(PLACES.map((place) => gitLine(['rev-parse', place], call)))).map(
      valueOf,
    );
  const [top = '', gitDir = '', prefix = ''] = lines;
  const root = await realpath(top);
  await failIfHiding(root);
  await failIfForeign(root, gitDir, async () => valueOf(await gitSettings({ cwd: root })));
  const config = await configOf(cwd);
  if (tops.size >= REMEMBERED_PLACES) tops.clear();
  if (config !== null && prefix === '' && gitDir === join(root, '.git')) tops.set(cwd, config);
  return { root, gitDir, prefix };
}

/** Git keeps no file below a repository's top in one around it. Where one has such files, a command that a model wrote may have made the `.git`. */
async function failIfHiding(root: string): Promise<void> {
  const outer = repositoryAround(dirname(root));
  if (outer === null) return;
  const below = `${relative(outer, root)}/`;
  const listed = await git(['ls-files', '-z', '--', below], { cwd: outer, reading: true });
  if (listed.ok && fieldsOf(listed.value).some((path) => path.startsWith(below)))
    fail(
      'git_failed',
      `${root}/.git hides the repository ${outer}, which has the files of ${root}.`,
      'Remove it: a command may have made it. If it is yours, `git rm -r --cached` them in the other one.',
    );
}

/**
 * Tops of working trees, each with when its configuration was written. Git finds the `.git` of a directory before any other: while that is a
 * directory and its configuration (`core.worktree`, `core.bare`) the same, its answer is. Below a top, or in a linked worktree, it is not.
 */
const tops = new Map<string, bigint>();
const configOf = async (dir: string): Promise<bigint | null> => {
  const own = await lstat(join(dir, '.git')).catch(() => null);
  const config =
    own?.isDirectory() === true ? lstat(join(dir, '.git', 'config'), { bigint: true }) : null;
  return (await config?.catch(() => null))?.ctimeNs ?? null;
};

export type Head = Pick<GitRepository, 'head' | 'headRef'>;

/**
 * What HEAD names, from git's own files, which no process costs. Null: git must be asked (a packed branch, one without commits, another
 * store of refs, a link). A branch's own file comes before every other place of it, so git would say the same.
 */
async function headIn(gitDir: string): Promise<Head | null> {
  const read = async (...names: readonly string[]): Promise<string> => {
    const path = resolve(gitDir, ...names);
    const isFile = (await lstat(path).catch(() => null))?.isFile() === true;
    return isFile ? readGiven(path, REF_BYTES).then(String, () => '') : '';
  };
  const content = await read('HEAD');
  const headRef = /^ref: (refs\/heads(?:\/\w[\w-]*(?:\.[\w-]+)*)+)\n$/.exec(content)?.[1] ?? null;
  // A linked worktree shares its branches.
  const id = headRef === null ? content : await read(await sharedGitDirectory(gitDir), headRef);
  const [head] = /^(?:[0-9a-f]{40}|[0-9a-f]{64})(?=\n$)/.exec(id) ?? [];
  return head === undefined ? null : { head, headRef };
}

/** Also for a branch without commits. */
async function headInParts(call: GitCall): Promise<Head> {
  const [head, headRef] = await Promise.all([
    git(['rev-parse', '--quiet', '--verify', 'HEAD^{commit}'], { ...call, accept: [0, 1] }),
    git(['symbolic-ref', '--quiet', 'HEAD'], { ...call, accept: [0, 1] }),
  ]);
  const line = (output: GitOutput): string | null =>
    output.code === 0 ? output.text.trim() : null;
  return { head: line(valueOf(head)), headRef: line(valueOf(headRef)) };
}

/** The value, or the problem thrown as a ProblemError: for sequences that one `catch` turns into an outcome. */
export function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new ProblemError(result.problem);
  return result.value;
}
