/** The person's own commit hooks, run as `git commit` runs them, against an index and a message file of theirs. */
import { lstat, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { problem, type Problem } from '../../shared/problems.js';
import type { SandboxSettings } from '../../documents/job/index.js';
import type { CommandRunner, Overlay } from '../commands/index.js';
import type { Layers } from '../layers/index.js';
import {
  ALWAYS,
  gitGroup,
  gitLine,
  NOBODY_THERE,
  valueOf,
  type GitRepository,
  fieldsOf,
  git,
  repositoryOf,
} from './git.js';
import { shellWord } from '../../shared/text.js';
import { redact } from '../../system/environment.js';
import { programPath } from '../../system/programs.js';
import type { CommitRequest, Result } from '../ports.js';
import { errnoOf } from '../../system/sys.js';
import { STORE_BOUNDS } from '../../shared/bounds.js';
import { changedFiles, filesIn, takeMessage, type ChangedFile } from './hook-results.js';
import type { StepKey } from '../../shared/ids.js';

export interface HookSettings {
  readonly root: string;
  /** Directory of ours with the files that the hooks see and may change (`filesIn`). */
  readonly dir: string;
  /** Files of the proposal, relative to `root`. */
  readonly files: readonly string[];
  readonly timeout_s: number;
  readonly signal?: AbortSignal;
  /** Names of variables that they get beside what a command gets. */
  readonly env: readonly string[];
  /** Null: they run as they are. */
  readonly box: HookBox | null;
}
/** In a sandbox the git directory is read-only: what a hook adds is in the directory of the hooks. */
export interface HookBox {
  readonly commands: CommandRunner;
  /** Null: there can be no overlay, so the hooks write the working tree. */
  readonly layers: Layers | null;
  /** Key of the run, for the layers. */
  readonly run: string;
  readonly settings: SandboxSettings;
  /** The directory that has the hooks. */
  readonly hooks: string;
  /** Where the repository keeps its objects. */
  readonly objects: string;
}

/** For git where what a hook added is looked at. */
export const hookObjects = ({ box, dir }: HookSettings): Readonly<Record<string, string>> =>
  box === null ? {} : { GIT_ALTERNATE_OBJECT_DIRECTORIES: filesIn(dir).objects };

/**
 * Where `pre-commit` or `commit-msg` might be. Null only where neither file exists and the configuration names no hook (newer gits
 * read `hook.*`): that spares a shell and a git for each.
 */
export async function hooksDir(
  { root, gitDir }: Pick<GitRepository, 'root' | 'gitDir'>,
  settings: ReadonlyMap<string, string>,
): Promise<string | null> {
  // A linked worktree has the hooks of its repository, and a configured place may begin with `~`: git knows.
  const isUsual = gitDir === join(root, '.git') && !settings.has('core.hookspath');
  const dir = isUsual
    ? join(gitDir, 'hooks')
    : valueOf(
        await gitLine(['rev-parse', '--git-path', 'hooks'], {
          cwd: root,
          reading: true,
          hooks: true,
        }),
      );
  if ([...settings.keys()].some((key) => key.startsWith('hook.'))) return resolve(root, dir);
  for (const hook of ['pre-commit', 'commit-msg']) {
    const failed = await lstat(resolve(root, dir, hook)).then(() => null, errnoOf);
    if (failed !== 'ENOENT' && failed !== 'ENOTDIR') return resolve(root, dir);
  }
  return null;
}

/** Returns whether hooks run before a commit in the repository of a workspace. */
export async function hasHooks(workspace: string): Promise<boolean> {
  const repository = await repositoryOf(workspace);
  if (repository === null) return false;
  return (await hooksDir(repository, await commitSettings(repository.root))) !== null;
}

export interface HookRun {
  /** Null: the hook passed or there is none. */
  readonly problem: Problem | null;
  /** Files of the proposal that a hook on an overlay changed in the working tree before it ended. */
  readonly changed: readonly ChangedFile[];
}

export async function runHook(
  settings: HookSettings,
  hook: string,
  args: readonly string[] = [],
): Promise<HookRun> {
  const { box, timeout_s } = settings;
  const tail = args.length > 0 ? ['--', ...args] : [];
  const called = ['hook', 'run', '--ignore-missing', hook, ...tail];
  const { ran, changed } =
    box === null
      ? { ran: await runOpen(settings, called), changed: [] }
      : await runBoxed(settings, box, called);
  if (ran.exit === 0) return { problem: null, changed };
  if (ran.output.includes("'hook' is not a git command")) {
    const lacks = problem(
      'git_failed',
      'commit hooks are run by `git hook`, which this git lacks',
      'Upgrade to git 2.36, or set `hooks: false`.',
    );
    return { problem: lacks, changed: [] };
  }
  if (ran.aborted)
    return { problem: problem('aborted', `the ${hook} hook was stopped`), changed: [] };
  const ended = ran.timedOut
    ? `took longer than ${timeout_s} s`
    : `ended with ${ran.exit ?? ran.signal ?? 'no exit code'}`;
  const output = redact(ran.output, process.env, settings.env).trim();
  return {
    problem: problem(
      'hook_failed',
      `the ${hook} hook ${ended}${output === '' ? '' : `: ${output}`}`,
    ),
    changed: ran.exit === null ? [] : changed,
  };
}

const processOptions = ({ root, timeout_s, signal }: HookSettings) => ({
  cwd: root,
  timeout_s,
  maxOutput_bytes: STORE_BOUNDS.hookOutput_bytes,
  ...(signal === undefined ? {} : { signal }),
});

const runOpen = (settings: HookSettings, called: readonly string[]) =>
  gitGroup(called, {
    ...processOptions(settings),
    env: { GIT_INDEX_FILE: filesIn(settings.dir).index },
    hook: { names: settings.env },
  });

/** Runs a hook in the sandbox: on an overlay of the working tree if there can be one, else in the working tree. */
async function runBoxed(settings: HookSettings, box: HookBox, called: readonly string[]) {
  const { root, dir, env, files } = settings;
  const { index, objects } = filesIn(dir);
  const run = (overlay: Overlay | null) =>
    box.commands.run({
      ...processOptions(settings),
      env,
      command: [programPath('git'), ...ALWAYS, '-c', `core.hooksPath=${box.hooks}`, ...called],
      more: {
        ...NOBODY_THERE,
        LC_ALL: 'C',
        GIT_INDEX_FILE: index,
        GIT_OBJECT_DIRECTORY: objects,
        GIT_ALTERNATE_OBJECT_DIRECTORIES: box.objects,
      },
      sandbox: {
        settings: { ...box.settings, read: [...box.settings.read, box.hooks] },
        workspace: root,
        scratch: [dir],
        ...(overlay === null ? {} : { overlay }),
      },
    });
  if (box.layers === null) return { ran: await run(null), changed: [] };
  const layer = { run: box.run, workspace: root, proposal: [], isWarm: false };
  return box.layers.use(layer, async ({ overlay }) => ({
    ran: await run(overlay),
    changed: await changedFiles(overlay.upper, root, files),
  }));
}

/** The message after the commit-msg hook, which may have changed it. */
export async function runMessageHook(
  settings: HookSettings,
  message: string,
): Promise<{ readonly message: string } | { readonly problem: Problem }> {
  const { message: file } = filesIn(settings.dir);
  // The pre-commit hook may have put a link there.
  await rm(file, { recursive: true, force: true });
  await writeFile(file, message, { flag: 'wx' });
  const { problem: refused } = await runHook(settings, 'commit-msg', [file]);
  return refused === null ? { message: await takeMessage(settings.dir) } : { problem: refused };
}

// The commit's message and who signs for it.

const TRAILER = 'Emend-Step';

/**
 * As `git stripspace` does it: no white space at the ends of lines, no empty line at the beginning, at the end or after another; a line
 * end at the end. Not asked of git, as each process costs the worker more than what it does.
 */
export const stripSpace = (text: string): string => {
  const lines = text.split('\n').map((line) => line.replace(/(?<![ \t\r])[ \t\r]+$/, ''));
  const kept = lines.filter((line, i) => line !== '' || (lines[i - 1] ?? '') !== '');
  while (kept.at(-1) === '') kept.pop();
  return kept.map((line) => `${line}\n`).join('');
};

export const markTrailer = ({ stepKey }: Pick<CommitRequest, 'stepKey'>): string =>
  `Emend-Mark: ${stepKey}`;

/** The message without stray blank lines, ending in the trailers `Emend-Mark: <its key>` and `Emend-Step: <stepKey>`; each is added once. */
export async function withTrailer(
  root: string,
  message: string,
  { stepKey, marks = [] }: Pick<CommitRequest, 'stepKey' | 'marks'>,
): Promise<string> {
  const text = stripSpace(message) || `Emend step ${stepKey}\n`;
  const ours = [...marks.map(markTrailer), `${TRAILER}: ${stepKey}`];
  // Where nothing at its end can be a trailer, a comment or a list of conflicts, git puts ours below it, and need not be asked.
  const [, ...paragraphs] = text.split('\n\n');
  if (!/:|\(cherry picked/.test(paragraphs.at(-1) ?? '') && !/^(#|Conflicts:)/m.test(text))
    return `${text}\n${[...new Set(ours)].map((line) => `${line}\n`).join('')}`;
  const how = ['--if-exists', 'addIfDifferent', '--if-missing', 'add', '--where', 'end'];
  // The repository's own trailer settings must not move or reword ours, nor run a command; `---` in a message is text, not the start of
  // a patch.
  const env = { GIT_DIR: '/dev/null' };
  const added = ours.flatMap((line) => ['--trailer', line]);
  const args = ['interpret-trailers', '--no-divider', ...how, ...added];
  return valueOf(await git(args, { cwd: root, env, input: text })).text;
}

/** The commit between `after` (null: from the beginning) and `tip` that carries the step's trailer, newest first; null if none. */
export async function commitOfStep(
  root: string,
  after: string | null,
  tip: string,
  stepKey: StepKey,
): Promise<string | null> {
  const range = after === null ? [tip] : [tip, `^${after}`];
  const line = `--grep=${TRAILER}: ${stepKey}`;
  const call = { cwd: root, reading: true };
  const listed = await gitLine(
    ['rev-list', '--max-count=20', '--fixed-strings', line, ...range, '--'],
    call,
  );
  if (!listed.ok) return null; // `after` is no longer in the repository: HEAD is elsewhere, which the caller reports
  for (const id of listed.value.split('\n').filter((found) => found !== '')) {
    const values = await gitLine(
      ['log', '-1', `--format=%(trailers:key=${TRAILER},valueonly)`, id, '--'],
      call,
    );
    if (values.ok && values.value.split('\n').includes(stepKey)) return id;
  }
  return null;
}

/** What a commit takes from git's configuration: whose it is, who signs it and how, hooks. The last value of each name (in lower case, as git prints it) counts. */
export async function commitSettings(root: string): Promise<ReadonlyMap<string, string>> {
  const keys =
    '^(user\\.(name|email|signingkey)|commit\\.gpgsign|gpg\\.format|core\\.hookspath|hook\\..*)$';
  const args = ['config', '-z', '--get-regexp', keys];
  const listed = valueOf(
    await git(args, { cwd: root, accept: [0, 1], reading: true, hooks: true }),
  );
  return new Map(
    fieldsOf(listed).map((field) => {
      const end = field.indexOf('\n');
      return end < 0 ? [field, ''] : [field.slice(0, end), field.slice(end + 1)];
    }),
  );
}

/** Author and committer with fixed dates: the same request gives the same commit. */
function identity(settings: ReadonlyMap<string, string>, date: string): Record<string, string> {
  const setting = (key: string, otherwise: string): string => {
    const found = settings.get(key)?.trim() ?? '';
    return found === '' ? otherwise : found;
  };
  const [name, email] = [setting('user.name', 'Emend'), setting('user.email', 'emend@localhost')];
  const when = `@${Math.floor(Date.parse(date) / 1000)} +0000`;
  const of = (who: string) => ({
    [`${who}_NAME`]: name,
    [`${who}_EMAIL`]: email,
    [`${who}_DATE`]: when,
  });
  return { ...of('GIT_AUTHOR'), ...of('GIT_COMMITTER') };
}

const SIGNING_WORDS_CHARS = 300; // bound: What git and its signing program say of a signature that fails.

export interface CommitToMake extends Pick<CommitRequest, 'message' | 'date' | 'sign'> {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly settings: ReadonlyMap<string, string>;
}

/**
 * Makes the commit, not the branch. The same request makes the same commit, or one with another signature. A failure is a problem:
 * `git_failed`; `sign_failed` with what to type.
 */
export async function makeCommit(root: string, wanted: CommitToMake): Promise<Result<string>> {
  const { tree, parents, message, settings, date, sign } = wanted;
  const how = ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent])];
  const call = { cwd: root, input: message, env: identity(settings, date) };
  const make = (signed: boolean) =>
    gitLine([...how, signed ? '-S' : '--no-gpg-sign', '-F', '-'], call);
  // commit-tree knows nothing of `commit.gpgsign`.
  const asked = ['config', '--type=bool', '--get', 'commit.gpgsign'];
  const byGit = async () =>
    settings.has('commit.gpgsign') && valueOf(await gitLine(asked, { cwd: root })) === 'true';
  if (!(sign ?? (await byGit()))) return make(false);
  const made = await make(true);
  // Is it the signature that fails? Without one the commit can be made.
  if (made.ok || !(await make(false)).ok) return made;
  const unsigned =
    sign === null
      ? '`git config commit.gpgsign false`, then answer retry'
      : 'abort, set `sign: false`, and start again';
  return {
    ok: false,
    problem: problem(
      'sign_failed',
      `Git could not sign the commit, so no commit was made. ${howToSign(settings)} Then answer retry. To commit without a signature: ${unsigned}. ` +
        `Git says: ${made.problem.message.slice(-SIGNING_WORDS_CHARS)}`,
    ),
  };
}

const howToSign = (settings: ReadonlyMap<string, string>): string => {
  const [format, key] = [
    settings.get('gpg.format') ?? 'openpgp',
    settings.get('user.signingkey') ?? '',
  ];
  const named = `(gpg.format ${format}, user.signingkey ${key === '' ? 'not set' : key})`;
  const agent =
    process.env.SSH_AUTH_SOCK === undefined
      ? 'SSH_AUTH_SOCK, which is not set here'
      : 'its SSH_AUTH_SOCK';
  switch (format) {
    case 'ssh':
      return `Load the key ${named} with \`ssh-add\` into the agent that the worker knows by ${agent}.`;
    case 'x509':
      return `Make the key ${named} available to the worker: \`gpgsm --list-secret-keys\` must list it.`;
    default:
      return `Unlock the key ${named} for the worker: \`echo | gpg --sign --local-user ${key === '' ? 'KEY' : shellWord(key)} >/dev/null\`.`;
  }
};
