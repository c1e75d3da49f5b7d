/**
 * A repository's remote, as git speaks to it from a bare mirror of ours: credentials are git's own, and no protocol, option or program
 * comes from the URL.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fail } from '../../shared/problems.js';
import {
  branchOf,
  isBase,
  isCommitId,
  tokenRef,
  urlFault,
  type RepositoryBase,
} from '../../shared/repository.js';
import { planOf, type StepKey } from '../../shared/ids.js';
import { ensureDir, orNull } from '../../system/durable.js';
import { shellWord } from '../../shared/text.js';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import { realSys } from '../../system/sys.js';
import { fieldsOf, git, gitLine, valueOf } from '../git/git.js';
import { besideOthers, commitAt } from '../git/worktree-git.js';
import { holdsCommit } from '../landing/merge.js';

const REFS_BYTES = 65_536; // bound: What a remote says of the references that are asked for.
const NONCE_BYTES = 8; // bound: Random part of a token.
const AHEAD_MS = 86_400_000; // bound: A token whose time comes later than this was made by a wrong clock, or by someone else.
const LOCK_MS = 30_000; // bound: A git lock in the mirror that is older is left by a git that was killed: each is held for a moment.
const NAMED = 5; // bound: Of the paths that keep a repository out so many are named.

/** A run's remote. */
export interface Remote {
  readonly url: string;
  /** The bare repository that all runs of the home on this URL share. */
  readonly mirror: string;
  readonly stepKey: StepKey;
  /** What the run pushes to. */
  readonly branch: string;
  /** ◆ Of a plan's branch the ref of what was pushed there last: whoever takes it out of the branch is asked, and git keeps it for them. */
  readonly last: string | null;
}

// An interrupted `git init` is begun again; two at once would stop at each other's lock.
const making = new Map<string, Promise<unknown>>();

/** Throws ProblemError `job_invalid`: the URL comes through a history; `remote_refused`, `git_failed`. */
export async function openRemote(
  mirror: string,
  stepKey: StepKey,
  { url, base, branch: shared }: RepositoryBase,
): Promise<Remote> {
  const branch = shared ?? branchOf(stepKey);
  // That of a reviewed run people rebase.
  const last = shared === undefined || shared === base ? null : lastRef(stepKey, shared);
  const remote = { url, mirror, stepKey, branch, last };
  const fault = urlFault(url) ?? (isBase(branch) ? null : 'the name of a branch');
  if (fault !== null) fail('job_invalid', `repository: expected ${fault}`);
  const make = async (): Promise<void> => {
    if ((await orNull(realSys.lstat(join(mirror, 'HEAD')), ['ENOENT', 'ENOTDIR'])) === null) {
      const cwd = dirname(mirror);
      await ensureDir(realSys, cwd);
      // Git fetches only what is named by the hash that it names its own by: one of SHA-256 has 64 digits.
      const id = isCommitId(base)
        ? base
        : await listed(remote, ['HEAD', `refs/heads/${base}`], cwd);
      const hash = `--object-format=${/^[\da-f]{64}\b/.test(id) ? 'sha256' : 'sha1'}`;
      valueOf(await git(['init', '--quiet', '--bare', '--template=', hash, mirror], { cwd }));
    }
    // Whatever a host's own git does with line ends, all have a run's files as they are committed. Read first: git is a process each time.
    const settings = await readGivenText(join(mirror, 'config'), UNREADABLE);
    if (settings?.includes('autocrlf = false') !== true)
      await git(['config', 'core.autocrlf', 'false'], inMirror(remote));
  };
  const made = (making.get(mirror) ?? Promise.resolve()).then(make);
  const settled = made.catch(() => undefined);
  making.set(mirror, settled);
  await made;
  return remote;
}

/** Git takes a directory without a working tree for a repository only where it is told so. */
const inMirror = ({ mirror }: Remote) => ({
  cwd: mirror,
  env: { GIT_DIR: mirror, GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh' },
});

/** Each plan has its own, as the next one may go on at what a person made of the branch. */
const lastRef = (stepKey: StepKey, branch: string): string =>
  `refs/emend/last/${planOf(stepKey)}/${branch.replaceAll('/', '-')}`;

/** What git says where every later try hears the same, until a person changes the URL, git's credentials, or what the remote takes. */
const FOR_GOOD = new RegExp(
  'repository .*not found|could not be found|does not appear to be a git repository|dubious ownership|certificate|' +
    'Authentication failed|could not read (?:Username|Password)|Permission denied \\(|Permission to \\S+ denied|' +
    'returned error: 40[13]|Host key verification failed|not exported|service not enabled|declined|hidden ref|' +
    'insufficient permission|does not support --atomic|exists; cannot create',
  'i',
);
/** In a line that names the mirror, or a ref that is in it alone: what is said of the remote's own objects is none of ours. */
const DAMAGED =
  /object file \S+ is empty|is corrupt|packfile|index file|not a git repository: '|bad object /;
const OURS = /refs\/emend\/(?:base|heads|tip|seen)\//;
/** What a crash left in the mirror goes, so that the next attempt makes it again: nothing in it is the only copy. */
export async function clearDamage({ mirror }: Remote, said: string): Promise<void> {
  const lock = /Unable to create '([^'\n]+\.lock)': File exists/.exec(said)?.[1] ?? '';
  const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Infinity }));
  if (lock.startsWith(mirror) && Date.now() - mtimeMs > LOCK_MS) await rm(lock, { force: true });
  const isOwn = (line: string): boolean => line.includes(mirror) || OURS.test(line);
  if (!said.split('\n').some((line) => isOwn(line) && DAMAGED.test(line))) return;
  await orNull(rename(mirror, `${mirror}.${randomBytes(NONCE_BYTES).toString('hex')}`), ['ENOENT']);
  await removeNamed(dirname(mirror), 'mirror.git.');
}
/** Throws ProblemError: `remote_refused` for good, `git_failed` where it may pass. */
async function failed(remote: Remote, said: string): Promise<never> {
  await clearDamage(remote, said);
  const next = `Test the URL and git's credentials on this host: git ls-remote ${shellWord(remote.url)}`;
  return FOR_GOOD.test(said) ? fail('remote_refused', said, next) : fail('git_failed', said);
}

const listed = async (
  remote: Remote,
  refs: readonly string[],
  cwd = remote.mirror,
): Promise<string> => {
  const call = { ...inMirror(remote), cwd, reading: true, max_bytes: REFS_BYTES };
  const said = await gitLine(['ls-remote', '--quiet', '--', remote.url, ...refs], call);
  return said.ok ? said.value : failed(remote, said.problem.message);
};

/** Git's own words where it fails. */
function fetch(
  remote: Remote,
  from: string,
  into: string,
  signal: AbortSignal,
): Promise<string | null> {
  const still = [
    '--quiet',
    '--no-tags',
    '--no-write-fetch-head',
    '--no-auto-maintenance',
    '--no-recurse-submodules',
  ];
  return besideOthers(
    ['fetch', ...still, '--', remote.url, `+${from}:${into}`],
    inMirror(remote),
    signal,
  );
}
const hasFetched = async (remote: Remote, said: string | null): Promise<void> => {
  if (said !== null) await failed(remote, `git fetch ${remote.url}: ${said}`);
};

export async function addWorktree(
  remote: Remote,
  path: string,
  commit: string,
  signal: AbortSignal,
): Promise<void> {
  const args = ['worktree', 'add', '--quiet', '--force', '--detach', path, commit];
  const said = await besideOthers(args, inMirror(remote), signal);
  if (said === null) return;
  await clearDamage(remote, said);
  fail('git_failed', `git worktree add ${path}: ${said}`);
}

/**
 * Checkouts beside the mirror whose names begin so, and what it knows of them. Not by `git worktree prune`, which takes that of one that is
 * being added at this moment.
 */
export async function removeNamed(dir: string, start: string): Promise<void> {
  for (const each of [dir, join(dir, 'mirror.git', 'worktrees')])
    for (const name of (await orNull(readdir(each), ['ENOENT'])) ?? [])
      if (name.startsWith(start)) await rm(join(each, name), { recursive: true, force: true });
}

const baseRef = ({ stepKey }: Remote): string => `refs/emend/base/${stepKey}`;
/** 128: git has no object of the id. */
const commitIn = (remote: Remote, name: string): Promise<string | null> =>
  commitAt(name, { ...inMirror(remote), accept: [0, 1, 128] });

/** Gets the commit, by its id or, of a server that serves none by their ids, with the branches; git's words where it is not there then. */
async function missing(
  remote: Remote,
  commit: string,
  signal: AbortSignal,
): Promise<string | null> {
  if ((await commitIn(remote, commit)) !== null) return null;
  const byId = await fetch(remote, commit, baseRef(remote), signal);
  if (byId !== null) await fetch(remote, 'refs/heads/*', 'refs/emend/heads/*', signal);
  return (await commitIn(remote, commit)) === null
    ? (byId ?? `the repository has no commit ${commit}`)
    : null;
}
/** Throws ProblemError `remote_refused`, `git_failed`. */
export const fetchCommit = async (
  remote: Remote,
  commit: string,
  signal: AbortSignal,
): Promise<void> => hasFetched(remote, await missing(remote, commit, signal));

/** The commit that a run begins at. Throws ProblemError `job_invalid`: there is none, `repository_unsupported`, `remote_refused`, `git_failed`. */
export async function resolveBase(
  remote: Remote,
  {
    repository: { base },
    signal,
  }: { readonly repository: RepositoryBase; readonly signal: AbortSignal },
  known?: string,
): Promise<string> {
  const said = isCommitId(base)
    ? await missing(remote, base, signal)
    : await fetch(remote, `refs/heads/${base}`, baseRef(remote), signal);
  if (/couldn't find remote ref|not our ref|unadvertised object|has no commit/.test(said ?? ''))
    fail(
      'job_invalid',
      `base: expected a branch or commit of ${remote.url}, it has no ${base}.`,
      'Name another with --base BRANCH, or as `base` where the job or plan says it. For a run that has begun, push it again under this name and answer retry.',
    );
  await hasFetched(remote, said);
  const commit = await commitIn(remote, isCommitId(base) ? base : baseRef(remote));
  // Git fetches nothing of a shallow repository, and says no error.
  if (commit === null)
    return fail(
      'job_invalid',
      `base: ${base} of ${remote.url} is no commit, or that is a shallow clone`,
    );
  if (commit !== known) await refuseUnsupported(remote, commit);
  return commit;
}

/** Files that are not in the repository itself could be neither shown nor tested. */
async function refuseUnsupported(remote: Remote, commit: string): Promise<void> {
  const call = { ...inMirror(remote), reading: true };
  const tree = valueOf(await git(['ls-tree', '-r', '-z', '--full-tree', commit], call));
  const modules = fieldsOf(tree).flatMap(
    (entry) => /^160000 commit [\da-f]+\t([^]+)$/.exec(entry)?.[1] ?? [],
  );
  const line = '^[[:blank:]]*[^#[:blank:]].*[[:blank:]]filter=lfs';
  const asked = [
    'grep',
    '-I',
    '-z',
    '--name-only',
    '-e',
    line,
    commit,
    '--',
    ':(top,glob)**/.gitattributes',
  ];
  const lfs = valueOf(await git(asked, { ...call, noLiteral: true, accept: [0, 1] }));
  const attributes = fieldsOf(lfs).map((path) => path.slice(commit.length + 1));
  const [paths, what] =
    modules.length > 0 ? [modules, 'submodules'] : [attributes, 'files in Git LFS, by'];
  if (paths.length === 0) return;
  const named = `${paths.slice(0, NAMED).join(', ')}${paths.length > NAMED ? ', …' : ''}`;
  fail(
    'repository_unsupported',
    `${remote.url} has ${what} ${named}, which a run on a repository does not fetch.`,
  );
}

/** Where what fetches and runs have left is much by now, git packs it, in the background. No harm where that fails. */
export const pack = (remote: Remote): Promise<unknown> =>
  git(['gc', '--auto', '--quiet'], inMirror(remote));

/** A run's own references on the remote; null: there is none. */
export interface RunRefs {
  readonly token: string | null;
  /** The tip of its branch. */
  readonly tip: string | null;
  /** What was pushed there last. */
  readonly last: string | null;
}
export async function readRefs(remote: Remote, signal: AbortSignal): Promise<RunRefs> {
  const [token, branch, last] = [
    tokenRef(remote.stepKey),
    `refs/heads/${remote.branch}`,
    remote.last ?? '',
  ];
  const lines = (await listed(remote, [token, branch, last].filter(Boolean))).split('\n');
  const at = new Map(lines.map((line) => line.split('\t').reverse() as [string, string]));
  const tip = at.get(branch) ?? null;
  if (tip !== null && (await commitIn(remote, tip)) === null)
    await hasFetched(
      remote,
      await fetch(remote, branch, `refs/emend/tip/${remote.stepKey}`, signal),
    );
  return { token: at.get(token) ?? null, tip, last: at.get(last) ?? null };
}

/** Its tip: whoever works on a branch with others builds on what was pushed there before. Throws ProblemError `remote_refused` where that is gone. */
export async function refuseTakenOut(
  remote: Remote,
  { tip, last }: RunRefs,
): Promise<string | null> {
  if (last === null || (tip !== null && (await isIn(remote, last, tip)))) return tip;
  const { branch, url, last: ref } = remote;
  const from = shellWord(url);
  const back = `Bring it back: git fetch ${from} ${ref} && git push ${from} FETCH_HEAD:refs/heads/${branch}`;
  const why = `The branch ${branch} of ${url} no longer holds ${last.slice(0, 12)}, pushed to it last as ${ref} says.`;
  return fail(
    'remote_refused',
    why,
    `${back}. If that is meant: git push ${from} :${ref}. Then answer retry.`,
  );
}
const isIn = (remote: Remote, commit: string, tip: string): Promise<boolean> =>
  holdsCommit(remote.mirror, commit, tip, inMirror(remote).env);

/** An object that nobody else has. `at`: of the attempt that makes it, ms since the epoch. */
export const newToken = async (remote: Remote, at: number): Promise<string> => {
  const input = `${at}\n${remote.stepKey} ${randomBytes(NONCE_BYTES).toString('hex')}\n`;
  return valueOf(await gitLine(['hash-object', '-w', '--stdin'], { ...inMirror(remote), input }));
};
/** Throws ProblemError `busy`: the token is of an attempt scheduled after `at`; `remote_refused`: somebody else made it, or a wrong clock, whose time is not waited for. */
export async function checkTurn(
  remote: Remote,
  token: string | null,
  at: number,
  signal: AbortSignal,
): Promise<void> {
  if (token === null) return;
  await hasFetched(
    remote,
    await fetch(remote, tokenRef(remote.stepKey), `refs/emend/seen/${remote.stepKey}`, signal),
  );
  const read = { ...inMirror(remote), reading: true, accept: [0, 128] };
  const said = valueOf(await git(['cat-file', 'blob', token], read)).text;
  const time = Number(new RegExp(`^(\\d{1,15})\\n${remote.stepKey} [\\da-f]+\\n$`).exec(said)?.[1]);
  if (time <= at) return;
  const ahead_ms = time - Date.now();
  if (ahead_ms <= AHEAD_MS)
    fail('busy', 'A later attempt has taken over this run: its token is newer.');
  const why =
    time > at
      ? `is of ${new Date(time).toISOString()}: a clock was wrong, or`
      : 'is no token of this run:';
  const [ref, url] = [tokenRef(remote.stepKey), remote.url];
  const next = `Remove it: git push ${shellWord(url)} :${ref}. Then answer retry.`;
  fail('remote_refused', `${ref} of ${url} ${why} someone else made it.`, next);
}

/**
 * ◆ All references or none, each only where it is as it was seen (`was`; null: absent), so that whoever was overtaken changes nothing. The
 * token moves with each push: whoever expects it as it was is refused. Throws ProblemError `busy` where it has moved, `conflict`
 * where the branch has, `git_failed`.
 */
export async function push(
  remote: Remote,
  was: RunRefs,
  to: { readonly token: string; readonly tip?: string },
): Promise<void> {
  const branch = { ref: `refs/heads/${remote.branch}`, was: was.tip, to: to.tip };
  const token = { ref: tokenRef(remote.stepKey), was: was.token, to: to.token };
  const last = remote.last === null ? [] : [{ ref: remote.last, was: was.last, to: to.tip }];
  const moved = to.tip === undefined ? [token] : [token, branch, ...last];
  const leases = moved.map((each) => `--force-with-lease=${each.ref}:${each.was ?? ''}`);
  const specs = moved.map((each) => `${each.to}:${each.ref}`);
  const args = [
    'push',
    '--quiet',
    '--atomic',
    '--no-verify',
    '--recurse-submodules=no',
    ...leases,
    '--',
    remote.url,
  ];
  const pushed = await git([...args, ...specs], inMirror(remote));
  if (pushed.ok) return;
  const now = await readRefs(remote, new AbortController().signal);
  // A push whose answer was lost has been done.
  if (now.token === to.token && (to.tip === undefined || now.tip === to.tip)) return;
  if (now.token !== was.token)
    fail('busy', 'Another attempt has taken over this run: its token on the remote has moved.');
  const at = now.tip === null ? 'is not there' : `is at ${now.tip.slice(0, 12)}`;
  if (to.tip !== undefined && now.tip !== was.tip)
    fail(
      'conflict',
      `the branch ${remote.branch} of ${remote.url} ${at}, expected ${was.tip?.slice(0, 12) ?? 'none'}`,
    );
  await failed(remote, pushed.problem.message);
}

/** A phase's branch goes where `into` holds all of it, and stays for whoever wants it where not: then its tip is `kept`. */
export async function dropBranch(remote: Remote, name: string, into: string, signal: AbortSignal) {
  const other = { ...remote, branch: name, last: lastRef(remote.stepKey, name) };
  const { tip, last } = await readRefs(other, signal);
  if (tip === null) return { dropped: null, kept: null };
  if (!(await isIn(remote, tip, into))) return { dropped: tip, kept: `refs/heads/${name}` };
  const args = [
    'push',
    '--quiet',
    '--no-verify',
    `--force-with-lease=refs/heads/${name}:${tip}`,
    '--',
    remote.url,
  ];
  const refs = [`:refs/heads/${name}`, ...(last === null ? [] : [`:${other.last}`])];
  const gone = await git([...args, ...refs], inMirror(remote));
  if (!gone.ok && (await readRefs(other, signal)).tip !== null)
    await failed(remote, gone.problem.message);
  return { dropped: null, kept: null };
}
