/** Runs a command in a sandbox by a worker of each user, in a workspace of theirs. */
import { execFile, execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { CommandOutcome } from '../../src/workspace/commands/index.js';
import { SANDBOX_ON, type SandboxSettings } from '../../src/documents/job/index.js';
import type { ChildTask } from '../workspace/commands/runner-child.js';
import type { BoxUser } from './box-users.js';

export interface Place {
  readonly base: string;
  readonly workspace: string;
  readonly home: string;
}
export interface AsUser {
  readonly user: BoxUser;
  /** Path of the transpiled test/workspace/commands/runner-child.ts. */
  readonly program: string;
  readonly command: string;
  readonly settings?: Partial<SandboxSettings>;
  /** Directories below the home that exist before. */
  readonly caches?: readonly string[];
  /** The base tests' run outside the sandbox, on overlays that are thrown away. */
  readonly isOpen?: true;
  readonly isGrouped?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly more?: Partial<Omit<ChildTask, 'request'>>;
}
export type Ran = CommandOutcome & { readonly lookups: Readonly<Record<string, number>> };

export async function runAsUser({
  user,
  program,
  command,
  settings = {},
  caches = [],
  isOpen,
  isGrouped = true,
  env = {},
  more = {},
}: AsUser): Promise<Ran> {
  const base = await realpath(await mkdtemp('/tmp/emend-as-user-'));
  const [workspace, home] = [join(base, 'workspace'), join(base, 'home')];
  try {
    for (const path of [workspace, home, ...caches.map((name) => join(home, name))])
      await mkdir(path, { recursive: true });
    execFileSync('chown', ['-R', `${user.uid}:${user.uid}`, base]);
    await chmod(base, 0o755);
    const task: ChildTask = {
      isGrouped,
      ...more,
      request: {
        command,
        cwd: workspace,
        sandbox: {
          settings: { ...SANDBOX_ON, ...settings },
          workspace,
          ...(isOpen === undefined ? {} : { isOpen }),
        },
      },
    };
    const argv = [...user.as, process.execPath, program, JSON.stringify(task)];
    const { stdout } = await promisify(execFile)(argv[0] ?? '', argv.slice(1), {
      cwd: '/',
      env: {
        PATH: process.env.PATH,
        HOME: home,
        TMPDIR: '/tmp',
        EMEND_BWRAP: user.ownBubblewrap,
        ...env,
      },
    });
    return JSON.parse(stdout) as Ran;
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}
