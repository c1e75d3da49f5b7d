/**
 * Git's own list of its settings in one directory, with the file of each. Git resolves scopes, includes and conditions. The list is read
 * again when one of the files that it came from, or could come from, has changed.
 */
import { lstatSync, realpathSync, statSync, type BigIntStats } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
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

const keyOf = (cwd: string, env: GitVariables): string =>
  JSON.stringify([cwd, ...Object.entries(env).filter(([name]) => RELEVANT.test(name))]);

const stateOf = (stat: BigIntStats): string =>
  // A git directory changes with every lock in it.
  stat.isDirectory()
    ? `directory ${stat.dev} ${stat.ino}`
    : `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;

/** The identity of a file, also of the link that leads to it. */
const fileState = (path: string): string => {
  try {
    return `${stateOf(lstatSync(path, { bigint: true }))} ${stateOf(statSync(path, { bigint: true }))}`;
  } catch {
    return 'none';
  }
};
const stateOfAll = (files: readonly string[]): string => files.map(fileState).join('\n');

/** The `.git` entries that decide which repository a directory is in. */
function discovered(cwd: string): string[] {
  const entries: string[] = [];
  let real = cwd;
  try {
    real = realpathSync.native(cwd);
  } catch {
    // Git reports it.
  }
  for (let dir = real; ; dir = dirname(dir)) {
    const entry = join(dir, '.git');
    entries.push(entry);
    if (fileState(entry) !== 'none' || dir === dirname(dir)) return entries;
  }
}

/** Files of settings that may appear. */
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
const ON_BRANCH = /^includeif\.onbranch:/;

/** Returns the file that an include names, which need not exist; null: the setting is no include. */
export const includedFile = ({ key, value, origin }: Setting): string | null => {
  if (!INCLUDE.test(key)) return null;
  if (value.startsWith('~/')) return join(homedir(), value.slice(2));
  return isAbsolute(value) || origin === null ? value : resolve(dirname(origin), value);
};

const ORIGIN = 'file:';

/** `--list -z` with origin and scope: three fields for each setting, of which the last is `key LF value`. */
function parse(text: string, cwd: string): Setting[] {
  const fields = text.split('\0');
  const settings: Setting[] = [];
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [scope = '', origin = '', entry = ''] = fields.slice(at, at + 3);
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

async function gitDirsOf(ask: AskGit): Promise<Result<readonly string[]>> {
  const questions = [
    ['rev-parse', '--absolute-git-dir'],
    ['rev-parse', '--path-format=absolute', '--git-common-dir'],
  ];
  const dirs: string[] = [];
  for (const question of questions) {
    const answer = await ask(question, [0]);
    if (!answer.ok)
      return NO_REPOSITORY.test(answer.problem.message) ? { ok: true, value: [] } : answer;
    dirs.push(answer.value.text.replace(/\n$/, ''));
  }
  return { ok: true, value: [...new Set(dirs)] };
}

async function read(
  cwd: string,
  env: GitVariables,
  ask: (more: GitVariables) => AskGit,
): Promise<Result<Remembered>> {
  const entries = env.GIT_DIR === undefined ? discovered(cwd) : [];
  // Taken before git reads the files: one that changes meanwhile is read again.
  const entryState = stateOfAll(entries);
  const found = await gitDirsOf(ask({}));
  if (!found.ok) return found;
  const gitDirs = found.value;
  const [gitDir] = gitDirs;
  const known = candidates(env, gitDirs);
  const knownState = stateOfAll(known);
  // With the directory named, git prints every origin as an absolute path.
  const list = ['config', '--list', '--show-origin', '--show-scope', '-z'];
  const listed = await ask(gitDir === undefined ? {} : { GIT_DIR: gitDir })(list, [0]);
  if (!listed.ok) return listed;
  const settings = parse(listed.value.text, cwd);
  const others = settings
    .flatMap((setting) => [setting.origin, includedFile(setting)])
    .filter((file) => file !== null && isAbsolute(file) && !known.includes(file));
  const isOnBranch = settings.some(({ key }) => ON_BRANCH.test(key));
  const heads = isOnBranch ? gitDirs.map((dir) => join(dir, 'HEAD')) : [];
  const late = [...new Set([...others.flatMap((file) => file ?? []), ...heads])];
  return {
    ok: true,
    value: {
      settings,
      gitDirs,
      files: [...entries, ...known, ...late],
      state: [entryState, knownState, stateOfAll(late)].filter((part) => part !== '').join('\n'),
    },
  };
}

/** Returns git's settings in a directory, or git's problem with them. */
export async function readSettings(
  cwd: string,
  env: GitVariables,
  ask: (more: GitVariables) => AskGit,
): Promise<Result<GitSettings>> {
  const key = keyOf(cwd, env);
  const before = remembered.get(key);
  if (before !== undefined && stateOfAll(before.files) === before.state)
    return { ok: true, value: before };
  remembered.delete(key);
  const start_ms = Date.now();
  const fresh = await read(cwd, env, ask);
  if (!fresh.ok) return fresh;
  if (remembered.size >= REMEMBERED_DIRECTORIES) remembered.clear();
  if (!fresh.value.files.some((file) => changedSince(file, start_ms - CLOCK_MS)))
    remembered.set(key, fresh.value);
  return fresh;
}
