/** Runs a command that a person wrote (a job's, a plan's or the project's tests). Never one that came from a model. */
import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { orNull } from '../../system/durable.js';
import { childEnvironment, redact, type Environment } from '../../system/environment.js';
import { lstat, realpath } from '../../system/fs.js';
import { runProcess } from '../../system/launcher.js';
import { learnWorkspace, programFault } from '../../system/programs.js';
import type { ProcessOutcome, ProcessRequest } from '../../system/process-group.js';
import { findBubblewrap, type Bubblewrap } from './bubblewrap.js';
import { confine, type ConfineOptions } from './confine.js';
import type { Box } from './sandbox.js';
import { coverFor } from './cover-installation.js';

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
  /** What it is shut in with; `off`: nothing, by a person's consent that is recorded. */
  readonly sandbox: Box | 'off';
  /** Names of variables of the runner's environment that it gets beside those that every command gets. */
  readonly env: readonly string[];
  /** It comes from the user's own settings, and runs nothing that a model wrote: with `off` it starts as it is. */
  readonly isPersonal?: true;
  /** Variables of its own. */
  readonly more?: Readonly<Record<string, string>>;
}
export type CommandOutcome = ProcessOutcome;

export interface CommandRunner {
  run(request: CommandRequest): Promise<CommandOutcome>;
  /** Why nothing can be shut in here; null: it can. */
  withoutSandbox(): Promise<string | null>;
}
const NONE_KNOWN_MS = 600_000; // bound: Where there is no sandbox, one is looked for again after this time.

export interface RunnerOptions extends Partial<ConfineOptions> {
  /** Called before a command that may write this directory for real: no overlay takes what it writes. */
  readonly beforeWriting?: (directory: string) => Promise<void>;
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
  let asked: { readonly at: number; readonly found: Promise<Bubblewrap> } | null = null;
  const bubblewrap = async (): Promise<Bubblewrap> => {
    asked ??= { at: performance.now(), found: findBubblewrap(env) };
    const { at } = asked;
    const found = await asked.found;
    // It may be in a workspace that was not known when it was found.
    if (found.works && programFault(found.path) !== null) {
      asked = { at: performance.now(), found: findBubblewrap(env) };
      return asked.found;
    }
    if (!found.works && performance.now() - at > NONE_KNOWN_MS) asked = null;
    return found;
  };
  const confining: ConfineOptions = {
    hidden,
    ownServers,
    isGrouped,
    allowed,
    ...(resolve === undefined ? {} : { resolve }),
  };
  const boxed = async (
    box: Box,
    given: Record<string, string>,
    argv: readonly string[],
    rest: Rest,
  ): Promise<CommandOutcome> => {
    const real = { ...box, workspace: await realpath(box.workspace) };
    learnWorkspace(real.workspace);
    const found = await bubblewrap();
    if (!found.works) throw new Error(`there is no sandbox: ${found.why}`);
    const git = join(real.workspace, '.git');
    const hadGit = await isThere(git);
    const confined = await confine(
      { bubblewrap: found.path, box: real, argv, env, variables: given },
      confining,
    );
    const ran = await runProcess({
      ...rest,
      cwd: real.workspace,
      file: confined.file,
      args: confined.args,
      env: { ...given, ...confined.variables },
      inputs: confined.inputs,
      watch: confined.watch,
    }).catch(async (error: unknown) => {
      await confined.end();
      throw error;
    });
    const end = await confined.end();
    const { told = '', ended = end.ended ?? undefined, ...outcome } = ran;
    // Git, run by us, would take it for the repository. An empty one is the sandbox's.
    if (box.overlay === undefined) await rmdir(git).catch(() => undefined);
    const madeGit = !hadGit && (await isThere(git));
    if (madeGit) await rm(git, { recursive: true, force: true });
    const isOver = ended !== undefined || ran.timedOut || ran.aborted;
    if (!told.includes('"exit-code"') && !isOver)
      throw new Error(`could not create the sandbox: ${ran.output.trim()}`);
    const notes = [
      ...(ended === undefined ? [] : [`stopped by Emend: ${ended}`]),
      ...end.notes,
      ...(madeGit ? ['removed by Emend: a .git that the command created in the workspace'] : []),
    ];
    return {
      ...outcome,
      ...(ended === undefined ? {} : { ended }),
      output: [outcome.output, ...notes].join('\n'),
    };
  };
  const covers = async (cwd: string): Promise<readonly string[]> => {
    const workspace = await orNull(realpath(cwd), ['ENOENT', 'ENOTDIR', 'EACCES']);
    if (workspace === null) return [];
    return coverFor(workspace, () => findBubblewrap(env, { fetch: false }));
  };
  const open = (
    cover: readonly string[],
    variables: Record<string, string>,
    argv: readonly string[],
    rest: Rest,
  ): Promise<CommandOutcome> => {
    const [file = '', ...args] = [...cover, ...argv];
    return runProcess({ ...rest, file, args, env: variables });
  };
  return {
    withoutSandbox: async () => {
      const found = await bubblewrap();
      return found.works ? null : found.why;
    },
    run: async ({ command, env: names, more = {}, sandbox, isPersonal = false, ...rest }) => {
      const given = { ...childEnvironment(env, [], names), ...more };
      const argv = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
      const written = writtenBy(sandbox, rest.cwd);
      if (written !== null) await beforeWriting?.(written);
      const ran =
        sandbox === 'off'
          ? await open(isPersonal ? [] : await covers(rest.cwd), given, argv, rest)
          : await boxed(sandbox, { ...given, ...variablesOf(sandbox), TMPDIR: '/tmp' }, argv, rest);
      return { ...ran, output: redact(ran.output, env, names) };
    },
  };
};

/** Returns the directory that a command may write for real; null: none. */
function writtenBy(sandbox: Box | 'off', cwd: string): string | null {
  if (sandbox === 'off') return cwd;
  const isCovered = sandbox.overlay !== undefined || sandbox.isReadOnly === true;
  return isCovered ? null : sandbox.workspace;
}

/** An overlay is a filesystem of its own. Git looks for the repository above a workspace that is a directory below it. */
const variablesOf = ({ overlay }: Box): Record<string, string> =>
  overlay === undefined ? {} : { GIT_DISCOVERY_ACROSS_FILESYSTEM: '1' };

const isThere = async (path: string): Promise<boolean> =>
  (await orNull(lstat(path), ['ENOENT', 'ENOTDIR'])) !== null;
