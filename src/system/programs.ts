/**
 * Finds the programs that Emend itself starts (git, gh, ssh-keygen, …) and makes the PATH of its own child processes. Only directories count
 * that no other user can write to and that are outside every workspace which this process knows (docs/decisions/0038). Commands of the user
 * keep their PATH.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { problem, ProblemError, type Problem } from '../shared/problems.js';
import { childEnvironment, type ChildKind, type Environment } from './environment.js';
import { sharedFault } from './hard-links.js';
import { learnEarlier, learnStart, workspaceOnWay, workspacesVersion } from './known-workspaces.js';
import { directoryFault, lookUp, pathFault, traceOf } from './trusted-path.js';

export { learnAround, learnHome, learnWorkspace, workspaceHolding } from './known-workspaces.js';

const REMEMBERED_PATHS = 16; // bound: Values of PATH for which this process remembers what it found.
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Programs that git starts by name: those that sign and those that speak to a remote. */
const STARTED_BY_GIT = 'git git-lfs sh ssh ssh-keygen gpg gpgsm'.split(' ');

export interface Skipped {
  /** A directory as PATH names it, or a program in one. */
  readonly path: string;
  /** A clause that completes "It is skipped because …". */
  readonly reason: string;
}
interface Found {
  /** Trusted programs of a name, in the order of PATH. */
  readonly paths: readonly string[];
  /** Other programs of that name, which are not trusted. */
  readonly skipped: readonly Skipped[];
}
interface Resolution {
  /** Version of the known workspaces when PATH was resolved. */
  readonly version: number;
  /** Real paths of the directories with trusted programs, in the order of PATH. */
  readonly directories: readonly string[];
  /** Those among them where no program that git starts leads into a workspace. */
  readonly path: string;
  readonly skipped: readonly Skipped[];
  readonly programs: Map<string, Found>;
}

const DEPENDS_ON_CWD = 'it depends on the current directory';
const inWorkspace = (workspace: string): string => `it is inside the workspace ${workspace}`;

/** Returns the real path of an entry of PATH, or why it is skipped. */
const trustedDirectory = (entry: string): string | { readonly reason: string } => {
  if (!isAbsolute(entry)) return { reason: DEPENDS_ON_CWD };
  const trace = traceOf(entry);
  if (trace.real === null) return { reason: 'it does not exist' };
  const workspace = workspaceOnWay(trace);
  if (workspace !== null) return { reason: inWorkspace(workspace) };
  const fault = directoryFault(entry);
  return fault === null ? trace.real : { reason: fault };
};

/** Returns a program that git would start from this directory although it leads into a workspace. */
const strayProgram = (directory: string): Skipped | null => {
  for (const name of STARTED_BY_GIT) {
    const path = join(directory, name);
    const { entry } = lookUp(directory, name);
    if (entry?.isSymbolicLink() === true) {
      const trace = traceOf(path);
      learnEarlier(trace);
      const workspace = workspaceOnWay(trace);
      if (workspace !== null)
        return { path: directory, reason: `its ${name} leads into the workspace ${workspace}` };
    }
    const shared = entry === null ? null : sharedFault(path);
    if (shared !== null) return { path: directory, reason: `of its ${name}: ${shared}` };
  }
  return null;
};

const resolved = (list: string): Resolution => {
  const entries = new Set(list.split(delimiter));
  for (const entry of entries) if (isAbsolute(entry)) learnEarlier(traceOf(entry));
  // A workspace that becomes known below makes the next caller resolve again.
  const version = workspacesVersion();
  const directories = new Set<string>();
  const safe = new Set<string>();
  const skipped: Skipped[] = [];
  for (const entry of entries) {
    const directory = trustedDirectory(entry);
    if (typeof directory !== 'string') {
      skipped.push({ path: entry, reason: directory.reason });
      continue;
    }
    directories.add(directory);
    const stray = strayProgram(directory);
    if (stray === null) safe.add(directory);
    else skipped.push(stray);
  }
  return {
    version,
    directories: [...directories],
    path: [...safe].join(delimiter),
    skipped,
    programs: new Map(),
  };
};

const resolutions = new Map<string, Resolution>();

/** Returns the resolution of PATH. It is made once for each process and PATH, and again when a workspace becomes known. */
const resolutionOf = ({ PATH = DEFAULT_PATH }: Environment): Resolution => {
  learnStart();
  const known = resolutions.get(PATH);
  if (known?.version === workspacesVersion()) return known;
  if (resolutions.size >= REMEMBERED_PATHS) resolutions.clear();
  const fresh = resolved(PATH);
  resolutions.set(PATH, fresh);
  return fresh;
};

/** Returns whether a path leads to a file that this user may run. */
export const isProgramFile = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};

/** Returns why a program at an absolute path is not started; null: it is trusted. */
export const programFault = (path: string): string | null => {
  const trace = traceOf(path);
  learnEarlier(trace);
  const workspace = workspaceOnWay(trace);
  return workspace === null ? (pathFault(trace) ?? sharedFault(path)) : inWorkspace(workspace);
};

const lookFor = (name: string, { directories, skipped }: Resolution): Found => {
  const paths: string[] = [];
  const refused: Skipped[] = [];
  for (const path of directories.map((directory) => join(directory, name))) {
    if (!isProgramFile(path)) continue;
    const reason = programFault(path);
    // Not the real path: a program may act by its name, and an upgrade replaces what a link leads to.
    if (reason === null) paths.push(path);
    else refused.push({ path, reason });
  }
  const elsewhere = skipped
    .map(({ path, reason }) => ({ path: join(path, name), reason }))
    .filter(({ path }) => isAbsolute(path) && !paths.includes(path) && isProgramFile(path));
  return { paths, skipped: [...refused, ...elsewhere] };
};

/** Judges a program that the user names by its path. */
const atPath = (path: string): Found => {
  const reason = isAbsolute(path) ? programFault(path) : DEPENDS_ON_CWD;
  return reason === null
    ? { paths: [path], skipped: [] }
    : { paths: [], skipped: [{ path, reason }] };
};

/** Returns the trusted programs of this name, and those that are passed over. */
export const findPrograms = (name: string, env: Environment = process.env): Found => {
  if (name.includes('/')) return atPath(name);
  const known = resolutionOf(env).programs.get(name);
  const [first = ''] = known?.paths ?? [];
  if (known !== undefined && isProgramFile(first) && sharedFault(first) === null) return known;
  // The program or its directory may have been installed, moved by an upgrade, or linked into a workspace meanwhile.
  if (known !== undefined) resolutions.delete(env.PATH ?? DEFAULT_PATH);
  const resolution = resolutionOf(env);
  const found = lookFor(name, resolution);
  resolution.programs.set(name, found);
  return found;
};

/** Returns the absolute path of a program that Emend starts, or the problem `no_program`. */
export const findProgram = (
  name: string,
  env: Environment = process.env,
): { readonly path: string } | { readonly problem: Problem } => {
  const { paths, skipped } = findPrograms(name, env);
  return paths[0] === undefined ? { problem: programProblem(name, skipped) } : { path: paths[0] };
};

const programProblem = (name: string, skipped: readonly Skipped[]): Problem => {
  if (skipped.length === 0)
    return problem('no_program', `${name} is not on PATH.`, `Install ${name}, or put it on PATH.`);
  const copies = skipped.map(({ path, reason }) => `${path} is not used: ${reason}.`);
  return problem(
    'no_program',
    `Emend found no ${name} that it can trust. ${copies.join(' ')}`,
    `Install ${name} outside the workspace, where only you and root can write, and put its directory on PATH.`,
  );
};

/** Returns the absolute path of a program that Emend starts. Throws ProblemError `no_program`. */
export const programPath = (name: string, env: Environment = process.env): string => {
  const found = findProgram(name, env);
  if ('problem' in found) throw new ProblemError(found.problem);
  return found.path;
};

/** Returns PATH for Emend's own child processes. */
export const ownPath = (env: Environment = process.env): string => resolutionOf(env).path;

/**
 * Returns whether the Node.js that runs this process is outside every known workspace. Its directory is not judged otherwise: whoever may
 * write there has this process already.
 */
export const isNodeTrusted = (): boolean => {
  learnStart();
  const trace = traceOf(process.execPath);
  learnEarlier(trace);
  return workspaceOnWay(trace) === null;
};

/** Returns the directories of PATH that Emend's own child processes do not get, and why. */
export const skippedDirectories = (env: Environment = process.env): readonly Skipped[] =>
  resolutionOf(env).skipped;

/** Returns what a child process of Emend's own gets of `env`. `GIT_EXEC_PATH` names a directory of programs, as PATH does. */
export const ownEnvironment = (
  env: Environment,
  kinds: readonly ChildKind[] = [],
): Record<string, string> => {
  const { GIT_EXEC_PATH: gitPrograms, ...variables } = childEnvironment(env, kinds);
  const isTrusted = gitPrograms !== undefined && typeof trustedDirectory(gitPrograms) === 'string';
  return {
    ...variables,
    ...(isTrusted ? { GIT_EXEC_PATH: gitPrograms } : {}),
    PATH: ownPath(env),
  };
};
