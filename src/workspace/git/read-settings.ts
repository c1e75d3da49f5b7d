/**
 * Git's own list of its settings in one directory, with the file of each. Git resolves scopes, includes and conditions. The list is read
 * again when one of the files that it came from, or could come from, has changed.
 */
import { lstatSync, statSync, type BigIntStats } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { realOrSame } from '../../system/paths.js';
import type { Result } from '../ports.js';

const REMEMBERED_DIRECTORIES = 200; // bound: Directories and environments for which this process remembers git's settings.
const CLOCK_MS = 20; // bound: Precision of a file system's times.

export interface Setting {
  /** Section and name are in lower case, as git prints them. */
  readonly key: string;
  readonly value: string;
  /** The file that has it, absolute; null: a variable or an option. */
  readonly origin: string | null;
  readonly scope: string;
}
export interface GitSettings {
  readonly settings: readonly Setting[];
  /** The git directory and the common one of a linked worktree; empty outside a repository. */
  readonly gitDirs: readonly string[];
}
/** Variables that decide what git reads. */
export type GitVariables = Readonly<Record<string, string>>;
interface Output {
  readonly code: number;
  readonly text: string;
}
/** Runs a git that only reads settings, and so starts no program. */
export type AskGit = (
  args: readonly string[],
  accept: readonly number[],
) => Promise<Result<Output>>;

interface Remembered extends GitSettings {
  /** Files, and what they were when git read them. */
  readonly files: readonly string[];
  readonly state: string;
}

/** A file that changes while git reads it may be read in its earlier state. */
const changedSince = (path: string, time_ms: number): boolean => {
  try {
    const stat = statSync(path);
    return !stat.isDirectory() && stat.ctimeMs >= time_ms;
  } catch {
    return false;
  }
};

const remembered = new Map<string, Remembered>();

const RELEVANT =
  /^(?:HOME|XDG_CONFIG_HOME|GIT_(?:DIR|CONFIG\w*|CEILING_DIRECTORIES|DISCOVERY\w*))$/;

/** The place that decides which repository's settings count: the git directory if it is known, else the current directory. */
const keyOf = (place: string, env: GitVariables): string =>
  JSON.stringify([place, ...Object.entries(env).filter(([name]) => RELEVANT.test(name))]);

const stateOf = (stat: BigIntStats): string =>
  // A git directory changes with every lock in it.
  stat.isDirectory()
    ? `directory ${stat.dev} ${stat.ino}`
    : `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;

/** Returns the identity of a file, also of the link that leads to it. */
const fileState = (path: string): string => {
  try {
    return `${stateOf(lstatSync(path, { bigint: true }))} ${stateOf(statSync(path, { bigint: true }))}`;
  } catch {
    return 'none';
  }
};
const stateOfAll = (files: readonly string[]): string => files.map(fileState).join('\n');

/** Returns the `.git` entries that decide which repository a directory is in. */
function discovered(cwd: string): string[] {
  const entries: string[] = [];
  // Git reports a directory that is not there.
  for (let dir = realOrSame(cwd); ; dir = dirname(dir)) {
    const entry = join(dir, '.git');
    entries.push(entry);
    if (fileState(entry) !== 'none' || dir === dirname(dir)) return entries;
  }
}

/** Returns the files of settings that may appear. */
function candidates(env: GitVariables, gitDirs: readonly string[]): string[] {
  const home = env.HOME ?? homedir();
  const config = env.XDG_CONFIG_HOME ?? join(home, '.config');
  return [
    env.GIT_CONFIG_SYSTEM ?? '/etc/gitconfig',
    ...(env.GIT_CONFIG_GLOBAL === undefined
      ? [join(home, '.gitconfig'), join(config, 'git', 'config')]
      : [env.GIT_CONFIG_GLOBAL]),
    ...gitDirs.flatMap((dir) => [join(dir, 'config'), join(dir, 'config.worktree')]),
  ].filter(isAbsolute);
}

const INCLUDE = /^include(?:if\..*)?\.path$/s;
const ON_BRANCH = 'includeif.onbranch:';

/** Returns the file that an include names, which need not exist; null: the setting is no include. */
export const includedFile = ({ key, value, origin }: Setting): string | null => {
  if (!INCLUDE.test(key)) return null;
  if (value.startsWith('~/')) return join(homedir(), value.slice(2));
  return isAbsolute(value) || origin === null ? value : resolve(dirname(origin), value);
};

const ORIGIN = 'file:';

/** Reads `--list -z` with origin and scope: three fields for each setting, of which the last is `key LF value`. */
function parse(text: string, cwd: string): Setting[] {
  const fields = text.split('\0');
  const settings: Setting[] = [];
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const [scope = '', origin = '', entry = ''] = fields.slice(index, index + 3);
    const end = entry.indexOf('\n');
    settings.push({
      key: end < 0 ? entry : entry.slice(0, end),
      value: end < 0 ? '' : entry.slice(end + 1),
      origin: origin.startsWith(ORIGIN) ? resolve(cwd, origin.slice(ORIGIN.length)) : null,
      scope,
    });
  }
  return settings;
}

/** Git's message if a directory is in no repository. */
const NO_REPOSITORY = /not a git repository|cannot use bare repository/;

async function askGitDirs(ask: AskGit): Promise<Result<readonly string[]>> {
  const questions = [
    ['--absolute-git-dir'],
    ['--path-format=absolute', '--git-common-dir'],
  ] as const;
  const lines = async (options: readonly string[]): Promise<Result<readonly string[]>> => {
    const answer = await ask(['rev-parse', ...options], [0]);
    return answer.ok ? { ok: true, value: answer.value.text.split('\n').slice(0, -1) } : answer;
  };
  const both = await lines(questions.flat());
  if (!both.ok) return NO_REPOSITORY.test(both.problem.message) ? { ok: true, value: [] } : both;
  if (both.value.length === questions.length) return { ok: true, value: [...new Set(both.value)] };
  // A name has a line end.
  const dirs: string[] = [];
  for (const question of questions) {
    const answer = await lines(question);
    if (!answer.ok) return answer;
    dirs.push(answer.value.join('\n'));
  }
  return { ok: true, value: [...new Set(dirs)] };
}

/** A usual `.git` directory needs no question: git finds it first. */
const plainGitDir = (entries: readonly string[]): string | null => {
  const entry = entries.at(-1) ?? '';
  const isPlain =
    fileKind(entry) === 'directory' &&
    fileKind(join(entry, 'HEAD')) === 'file' &&
    fileKind(join(entry, 'objects')) === 'directory' &&
    fileKind(join(entry, 'refs')) === 'directory' &&
    fileKind(join(entry, 'commondir')) === null;
  return isPlain ? entry : null;
};
const fileKind = (path: string): 'directory' | 'file' | 'other' | null => {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  if (stat.isDirectory()) return 'directory';
  return stat.isFile() ? 'file' : 'other';
};

/** Emend's own name for "in no repository". */
const NO_GIT_DIR = '/dev/null';

interface Place {
  readonly cwd: string;
  /** The `.git` entries that decide which repository this is. */
  readonly entries: readonly string[];
  readonly plain: string | null;
}
const placeOf = (cwd: string, { GIT_DIR }: GitVariables): Place => {
  const entries = GIT_DIR === undefined ? discovered(cwd) : [];
  const plain = plainGitDir(entries);
  return { cwd, entries: plain === null ? entries : [plain], plain };
};

interface Listed {
  readonly gitDirs: readonly string[];
  readonly text: string;
}
/** With the directory named, git prints every origin as an absolute path. */
async function listIn(
  gitDirs: readonly string[],
  ask: (more: GitVariables) => AskGit,
): Promise<Result<Listed>> {
  const [gitDir] = gitDirs;
  const list = ['config', '--list', '--show-origin', '--show-scope', '-z'];
  const listed = await ask(gitDir === undefined ? {} : { GIT_DIR: gitDir })(list, [0]);
  return listed.ok ? { ok: true, value: { gitDirs, text: listed.value.text } } : listed;
}

async function list(
  plain: string | null,
  env: GitVariables,
  ask: (more: GitVariables) => AskGit,
): Promise<Result<Listed>> {
  if (env.GIT_DIR === NO_GIT_DIR) return listIn([], ask);
  const listed = plain === null ? null : await listIn([plain], ask);
  if (listed?.ok === true) return listed;
  // Git may take another directory, further up.
  const gitDirs = await askGitDirs(ask({}));
  return gitDirs.ok ? listIn(gitDirs.value, ask) : gitDirs;
}

async function read(
  { cwd, entries, plain }: Place,
  env: GitVariables,
  ask: (more: GitVariables) => AskGit,
): Promise<Result<Remembered>> {
  // Taken before git reads the files: one that changes meanwhile is read again.
  const entryState = stateOfAll(entries);
  const outer = stateOfAll(candidates(env, []));
  const listed = await list(plain, env, ask);
  if (!listed.ok) return listed;
  const { gitDirs, text } = listed.value;
  const settings = parse(text, cwd);
  const known = candidates(env, []);
  const others = settings
    .flatMap((setting) => [setting.origin, includedFile(setting)])
    .filter((file) => file !== null && isAbsolute(file) && !known.includes(file));
  const isOnBranch = settings.some(({ key }) => key.startsWith(ON_BRANCH));
  const heads = isOnBranch ? gitDirs.map((dir) => join(dir, 'HEAD')) : [];
  const inner = candidates(env, gitDirs).filter((file) => !known.includes(file));
  const late = [...new Set([...inner, ...others.flatMap((file) => file ?? []), ...heads])];
  return {
    ok: true,
    value: {
      settings,
      gitDirs,
      files: [...entries, ...known, ...late],
      state: [entryState, outer, stateOfAll(late)].filter((part) => part !== '').join('\n'),
    },
  };
}

/** Returns git's settings in a directory, or git's problem with them. */
export async function readSettings(
  cwd: string,
  env: GitVariables,
  ask: (more: GitVariables) => AskGit,
): Promise<Result<GitSettings>> {
  const place = placeOf(cwd, env);
  const named = env.GIT_DIR !== undefined && isAbsolute(env.GIT_DIR) ? env.GIT_DIR : null;
  const key = keyOf(place.plain ?? named ?? cwd, env);
  const before = remembered.get(key);
  if (before !== undefined && stateOfAll(before.files) === before.state)
    return { ok: true, value: before };
  remembered.delete(key);
  const start_ms = Date.now();
  const fresh = await read(place, env, ask);
  if (!fresh.ok) return fresh;
  if (remembered.size >= REMEMBERED_DIRECTORIES) remembered.clear();
  if (!fresh.value.files.some((file) => changedSince(file, start_ms - CLOCK_MS)))
    remembered.set(key, fresh.value);
  return fresh;
}
