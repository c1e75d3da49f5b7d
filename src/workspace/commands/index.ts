/** Runs a command that a person wrote (a job's, a plan's or the project's tests). Never one that came from a model. */
import { rm, rmdir, readdir, readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { orNull } from '../../system/durable.js';
import { childEnvironment, redact, type Environment } from '../../system/environment.js';
import { lstat, realpath } from '../../system/fs.js';
import { runProcess } from '../../system/launcher.js';
import type { ProcessOutcome, ProcessRequest } from '../../system/process-group.js';
import { findBubblewrap, type Bubblewrap } from './bubblewrap.js';
import { boxArguments, limited, type Box, mostProcesses } from './sandbox.js';
import { totalmem } from 'node:os';

export { redact } from '../../system/environment.js';
export { classifyFailure, failedTests, failingTests } from './classify.js';
export { type DiscoveredTests, discoverTests } from './discover.js';
export { findBubblewrap } from './bubblewrap.js';
export { type Box, gitPlaces } from './sandbox.js';
export type { Overlay } from './mounts.js';

type Rest = Omit<ProcessRequest, 'file' | 'args' | 'env' | 'watch'>;
export interface CommandRequest extends Rest {
  /** For `sh -c`, or a program with its arguments. */
  readonly command: string | readonly string[];
  /** What it is shut in with; `off`: nothing, by a person's consent that is recorded. */
  readonly sandbox: Box | 'off';
  /** Names of variables of the runner's environment that it gets beside those that every command gets. */
  readonly env: readonly string[];
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

export interface RunnerOptions {
  /** Our own directories (home, store), which no command in a sandbox sees. */
  readonly hidden?: readonly string[];
  /** Less than settings allow: for tests. */
  readonly allowed?: Partial<Allowance>;
}

/**
 * Runs commands on this machine, each in a process group of its own. Their kept output holds no value of a secret-named variable of
 * `env`.
 */
export const createLocalRunner = (
  env: Environment,
  { hidden = [], allowed = {} }: RunnerOptions = {},
): CommandRunner => {
  let asked: { readonly at: number; readonly found: Promise<Bubblewrap> } | null = null;
  const bubblewrap = async (): Promise<Bubblewrap> => {
    asked ??= { at: performance.now(), found: findBubblewrap(env) };
    const { at } = asked;
    const found = await asked.found;
    if (!found.works && performance.now() - at > NONE_KNOWN_MS) asked = null;
    return found;
  };
  const boxed = async (
    box: Box,
    given: Record<string, string>,
    argv: readonly string[],
    rest: Rest,
  ): Promise<CommandOutcome> => {
    const found = await bubblewrap();
    if (!found.works) throw new Error(`there is no sandbox: ${found.why}`);
    const real = { ...box, workspace: await realpath(box.workspace) };
    const git = join(real.workspace, '.git');
    const hadGit = await isThere(git);
    const options = await boxArguments(real, { env, hidden });
    const watch = await watchBox(real, { ...allowanceOf(box), ...allowed });
    const command = box.isOpen === true ? argv : limited(box.settings, argv);
    const args = ['--json-status-fd', '4', ...options, '--', ...command];
    const ran = await runProcess({
      ...rest,
      cwd: real.workspace,
      file: found.path,
      args,
      env: given,
      watch,
    });
    const { told = '', ended, ...outcome } = ran;
    // Git, run by us, would take it for the repository. An empty one is the sandbox's.
    if (box.overlay === undefined) await rmdir(git).catch(() => undefined);
    const madeGit = !hadGit && (await isThere(git));
    if (madeGit) await rm(git, { recursive: true, force: true });
    const isOver = ended !== undefined || ran.timedOut || ran.aborted;
    if (!told.includes('"exit-code"') && !isOver)
      throw new Error(`could not create the sandbox: ${ran.output.trim()}`);
    const notes = [
      ...(ended === undefined ? [] : [`stopped by Emend: ${ended}`]),
      ...(madeGit ? ['removed by Emend: a .git that the command created in the workspace'] : []),
    ];
    return {
      ...outcome,
      ...(ended === undefined ? {} : { ended }),
      output: [outcome.output, ...notes].join('\n'),
    };
  };
  return {
    withoutSandbox: async () => {
      const found = await bubblewrap();
      return found.works ? null : found.why;
    },
    run: async ({ command, env: names, more = {}, sandbox, ...rest }) => {
      const given = { ...childEnvironment(env, [], names), ...more };
      const argv = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
      const [file = '', ...args] = argv;
      const ran =
        sandbox === 'off'
          ? await runProcess({ ...rest, file, args, env: given })
          : await boxed(sandbox, { ...given, TMPDIR: '/tmp' }, argv, rest);
      return { ...ran, output: redact(ran.output, env) };
    },
  };
};

const isThere = async (path: string): Promise<boolean> =>
  (await orNull(lstat(path), ['ENOENT', 'ENOTDIR'])) !== null;

// Looks after a sandbox from outside: one that takes more of the machine than it may is ended as a whole.

const MIB = 1024 ** 2;
const MEMORY_SHARE = 0.75; // bound: Of the machine's memory a command gets so much, unless `memory_mib` says otherwise.
const PAGE_BYTES = 4096; // bound: Memory is counted in pages of this; where they are larger, too little is counted.
const LEAST_FREE_MIB = 1_024; // bound: A command that fills the workspace's disk is ended before it has less free,
const MOST_WRITTEN_MIB = 32_768; // bound: or once it has so much less free than when the command began.

/** What a box may use; a test may say less. */
export type Allowance = Readonly<
  Record<'memory_mib' | 'processes' | 'leastFree_mib' | 'mostWritten_mib', number>
>;
const allowanceOf = ({ settings }: Pick<Box, 'settings'>): Allowance => ({
  memory_mib: settings.memory_mib ?? Math.floor((totalmem() * MEMORY_SHARE) / MIB),
  processes: mostProcesses(settings),
  leastFree_mib: LEAST_FREE_MIB,
  mostWritten_mib: MOST_WRITTEN_MIB,
});

/** Of the file system of a path, in MiB. */
const spaceOf = async (path: string) => {
  const { blocks, bfree, bavail, bsize } = await statfs(path);
  return { free: (bavail * bsize) / MIB, used: ((blocks - bfree) * bsize) / MIB };
};

/**
 * For ProcessRequest.watch. Bubblewrap tells the pid of the sandbox's first process; what that one has mounted as /proc lists the
 * processes of the sandbox and no others.
 */
const watchBox = async (
  { workspace, overlay }: Pick<Box, 'workspace' | 'overlay'>,
  allowed: Allowance,
) => {
  const writtenTo = overlay?.upper ?? workspace;
  const { free: freeAtFirst } = await spaceOf(writtenTo);
  return async (told: string): Promise<string | null> => {
    const pid = /"child-pid":\s*(\d+)/.exec(told)?.[1];
    if (pid === undefined) return null;
    const { free } = await spaceOf(writtenTo);
    const written = freeAtFirst - free;
    if (
      written > allowed.mostWritten_mib ||
      (free < allowed.leastFree_mib && written > allowed.leastFree_mib / 8)
    )
      return `it wrote ${Math.round(written)} MiB, and ${Math.round(free)} MiB of disk space are left`;
    const inside = `/proc/${pid}/root`;
    const gone = ['ENOENT', 'ESRCH', 'EACCES', 'EINVAL', 'ENOTDIR'];
    const pids = ((await orNull(readdir(join(inside, 'proc')), gone)) ?? []).filter((name) =>
      /^\d+$/.test(name),
    );
    if (pids.length > allowed.processes)
      return `it has ${pids.length} processes; \`processes\` allows ${allowed.processes}`;
    let memory = 0;
    for (const each of pids) {
      const statm = await orNull(readFile(join(inside, 'proc', each, 'statm'), 'utf8'), gone);
      const [, resident = 0, shared = 0] = (statm ?? '').split(' ').map(Number);
      memory += ((resident - shared) * PAGE_BYTES) / MIB;
    }
    // What is written to them is memory, too.
    for (const place of ['tmp', 'dev/shm', 'run'])
      memory += (await orNull(spaceOf(join(inside, place)), gone))?.used ?? 0;
    return memory > allowed.memory_mib
      ? `it uses ${Math.round(memory)} MiB of memory; \`memory_mib\` allows ${allowed.memory_mib}`
      : null;
  };
};
