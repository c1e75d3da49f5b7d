/** Runs commands that you configured, such as tests, formatters and hooks. No command comes from a model. */
import { homedir } from 'node:os';
import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { orNull } from '../../system/durable.js';
import { childEnvironment, redact, type Environment } from '../../system/environment.js';
import { lstat, realpath } from '../../system/fs.js';
import { runProcess } from '../../system/launcher.js';
import type { ProcessOutcome, ProcessRequest } from '../../system/process-group.js';
import { learnWorkspace, programFault } from '../../system/programs.js';
import { workspaceWrites, type SandboxSettings } from '../../documents/job/index.js';
import { findBubblewrap, type Bubblewrap } from './bubblewrap.js';
import { confine, type ConfinedEnd, type ConfineOptions } from './confine.js';
import { coverFor } from './cover-installation.js';
import type { Box } from './sandbox.js';

export { redact } from '../../system/environment.js';
export { classifyFailure, failedTests, failingTests } from './classify.js';
export { type DiscoveredTests, discoverTests } from './discover.js';
export { findBubblewrap } from './bubblewrap.js';
export { limitedBy } from './cgroup.js';
export { gitPlaces } from '../git/git-places.js';
export { seccompFilter } from './seccomp.js';
export type { Box } from './sandbox.js';
export type { Overlay } from './mounts.js';

type Rest = Omit<ProcessRequest, 'file' | 'args' | 'env' | 'watch' | 'inputs'>;
export interface CommandRequest extends Rest {
  /** For `sh -c`, or a program with its arguments. */
  readonly command: string | readonly string[];
  /** Its sandbox; `off`: it has none, by a consent that is recorded. */
  readonly sandbox: Box | 'off';
  /** Names of variables of the runner's environment that it gets in addition to those that every command gets. */
  readonly env: readonly string[];
  /** It comes from the user's own settings, and runs nothing that a model wrote: with `off` it starts as it is. */
  readonly isPersonal?: true;
  /** Variables of its own. */
  readonly more?: Readonly<Record<string, string>>;
}
export type CommandOutcome = ProcessOutcome;

export interface CommandRunner {
  run(request: CommandRequest): Promise<CommandOutcome>;
  /** Returns why there is no sandbox on this machine; null: there is one. */
  withoutSandbox(): Promise<string | null>;
}
const NONE_KNOWN_MS = 600_000; // bound: Where there is no sandbox, one is looked for again after this time.

export interface RunnerOptions extends Partial<ConfineOptions> {
  /** Called before a command that may write this directory for real: no overlay takes what it writes. */
  readonly beforeWriting?: (directory: string) => Promise<void>;
}

/** A command that is about to run. */
interface Command {
  readonly argv: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  readonly rest: Rest;
}

/**
 * Runs commands on this machine, each in a process group of its own. Their kept output holds no value of a secret-named variable of
 * `env`, nor of a variable that `env:` lists (see `secretValues`).
 */
export const createLocalRunner = (
  env: Environment,
  {
    hidden = [],
    ownServers = () => Promise.resolve([]),
    resolve,
    isGrouped = true,
    allowed = {},
    beforeWriting,
  }: RunnerOptions = {},
): CommandRunner => {
  const bubblewrap = bubblewrapFinder(env);
  const confining: ConfineOptions = {
    hidden,
    ownServers,
    isGrouped,
    allowed,
    ...(resolve === undefined ? {} : { resolve }),
  };
  return {
    withoutSandbox: async () => {
      const found = await bubblewrap();
      return found.works ? null : found.why;
    },
    run: async ({ command, env: names, more = {}, sandbox, isPersonal = false, ...rest }) => {
      const written = writtenBy(sandbox, rest.cwd);
      if (written !== null) await beforeWriting?.(written);
      const argv = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
      const variables = { ...childEnvironment(env, [], names), ...more };
      const ran =
        sandbox === 'off'
          ? await runOpen({ argv, variables, rest }, isPersonal ? [] : await coverIn(rest.cwd, env))
          : await runBoxed({ argv, variables, rest }, sandbox, { bubblewrap, env, confining });
      return { ...ran, output: redact(ran.output, env, names) };
    },
  };
};

/** Returns a function that finds bubblewrap once. It searches again if the program is no longer trusted, or if there was none for a while. */
function bubblewrapFinder(env: Environment): () => Promise<Bubblewrap> {
  const start = () => ({ start_ms: performance.now(), result: findBubblewrap(env) });
  let search: ReturnType<typeof start> | null = null;
  return async () => {
    search ??= start();
    const { start_ms } = search;
    const found = await search.result;
    // It may be in a workspace that was not known when it was found.
    if (found.works && programFault(found.path) !== null) {
      search = start();
      return search.result;
    }
    if (!found.works && performance.now() - start_ms > NONE_KNOWN_MS) search = null;
    return found;
  };
}

/** Returns what covers Emend's own installation in the workspace around a directory. */
async function coverIn(cwd: string, env: Environment): Promise<readonly string[]> {
  const workspace = await orNull(realpath(cwd), ['ENOENT', 'ENOTDIR', 'EACCES']);
  if (workspace === null) return [];
  return coverFor(workspace, () => findBubblewrap(env, { fetch: false }));
}

/** Runs a command without a sandbox. */
function runOpen(
  { argv, variables, rest }: Command,
  cover: readonly string[],
): Promise<CommandOutcome> {
  const [file = '', ...args] = [...cover, ...argv];
  return runProcess({ ...rest, file, args, env: variables });
}

interface BoxTools {
  readonly bubblewrap: () => Promise<Bubblewrap>;
  readonly env: Environment;
  readonly confining: ConfineOptions;
}

/** Runs a command in a sandbox. Throws if there is none, or if it could not be made. */
async function runBoxed(
  { argv, rest, ...command }: Command,
  box: Box,
  { bubblewrap, env, confining }: BoxTools,
): Promise<CommandOutcome> {
  const workspace = await realpath(box.workspace);
  learnWorkspace(workspace);
  const found = await bubblewrap();
  if (!found.works) throw new Error(`there is no sandbox: ${found.why}`);
  const variables = { ...command.variables, ...variablesOf(box), TMPDIR: '/tmp' };
  const git = join(workspace, '.git');
  const hadGit = await isThere(git);
  const real = { ...box, workspace };
  const confined = await confine(
    { bubblewrap: found.path, box: real, argv, env, variables },
    confining,
  );
  const ran = await runProcess({
    ...rest,
    cwd: workspace,
    file: confined.file,
    args: confined.args,
    env: { ...variables, ...confined.variables },
    inputs: confined.inputs,
    watch: confined.watch,
  }).catch(async (error: unknown) => {
    await confined.end();
    throw error;
  });
  const end = await confined.end();
  // The sandbox leaves an empty `.git`, which Emend's git would take for the repository.
  if (box.overlay === undefined) await rmdir(git).catch(() => undefined);
  const madeGit = !hadGit && (await isThere(git));
  if (madeGit) await rm(git, { recursive: true, force: true });
  return boxedOutcome(ran, end, { madeGit, memory_mib: box.settings.memory_mib });
}

/** Returns the outcome with the reasons of Emend at the end of the output. Throws if the sandbox could not be made. */
function boxedOutcome(
  { report: status = '', ...ran }: ProcessOutcome,
  end: ConfinedEnd,
  {
    madeGit,
    memory_mib,
  }: { readonly madeGit: boolean; readonly memory_mib: SandboxSettings['memory_mib'] },
): CommandOutcome {
  const ended = ran.ended ?? end.ended ?? undefined;
  const isOver = ended !== undefined || ran.timedOut || ran.aborted;
  if (!status.includes('"exit-code"') && !isOver)
    throw new Error(`could not create the sandbox: ${ran.output.trim()}`);
  const notes = [
    ...(ended === undefined ? [] : [`stopped by Emend: ${ended}`]),
    ...(memory_mib !== null && ran.exit !== 0 && OUT_OF_MEMORY.test(ran.output)
      ? [
          `limited by Emend: a process reached the memory limit of ${memory_mib} MiB. Raise \`memory_mib\` of \`sandbox:\` in emend.yaml or the job, then retry.`,
        ]
      : []),
    ...end.notes,
    ...(madeGit ? ['removed by Emend: a .git that the command created in the workspace'] : []),
  ];
  return {
    ...ran,
    ...(ended === undefined ? {} : { ended }),
    output: [ran.output, ...notes].join('\n'),
  };
}

/** Messages of a runtime whose process got no more memory. */
const OUT_OF_MEMORY =
  /JavaScript heap out of memory|Fatal process out of memory|\bMemoryError\b|cannot allocate memory|\bENOMEM\b|OutOfMemoryError|runtime: out of memory|memory allocation of \d+ bytes failed/i;

/** Returns the directory that a command may write for real; null: none. */
function writtenBy(sandbox: Box | 'off', cwd: string): string | null {
  if (sandbox === 'off') return cwd;
  const { overlay, isReadOnly, settings } = sandbox;
  const copies = workspaceWrites(settings, { root: sandbox.workspace, home: homedir() }).length > 0;
  const isCovered = (overlay !== undefined && !copies) || isReadOnly === true;
  return isCovered ? null : sandbox.workspace;
}

/** An overlay is a filesystem of its own. Git looks for the repository above a workspace that is a directory below it. */
const variablesOf = ({ overlay }: Box): Record<string, string> =>
  overlay === undefined ? {} : { GIT_DISCOVERY_ACROSS_FILESYSTEM: '1' };

const isThere = async (path: string): Promise<boolean> =>
  (await orNull(lstat(path), ['ENOENT', 'ENOTDIR'])) !== null;
