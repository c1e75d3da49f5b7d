/**
 * Finds the reason for which the system refuses to replace a file, and the command that removes it. Every target is examined before the
 * point of no return, as far as a reason can be known then. If the system refuses later nevertheless, the message names the reason.
 */
import { join } from 'node:path';
import { problem, ProblemError, type Problem } from '../../shared/problems.js';
import { dirOf } from './paths.js';
import type { PlannedFile, TransactionPlan } from './record.js';
import { shellWord } from '../../shared/text.js';
import { orNull } from '../../system/durable.js';
import { mountPoints } from '../../system/mount-info.js';
import { errnoOf, type Sys } from '../../system/sys.js';

/** Returns the first refusal that can be known before anything is written; null: none is known. */
export const refusalBefore = async (sys: Sys, plan: TransactionPlan): Promise<Problem | null> => {
  const mounts = new Set(await mountPoints(sys));
  const dirs = new Set<string>();
  for (const file of plan.files.filter(({ write }) => write)) {
    const reason = await refusal(sys, plan.workspace, file, { mounts, seen: dirs });
    if (reason !== null) return problem('disk', `Nothing was written: ${reason}, then try again.`);
  }
  return null;
};

/** Returns the error of a change that stopped half-way, with the reason and a command. An error that is no refused system call is returned as it is. */
export const refusalAfter = async (
  sys: Sys,
  plan: TransactionPlan,
  error: unknown,
): Promise<unknown> => {
  const errno = errnoOf(error);
  if (errno === null) return error;
  const { path, dest } = error as { readonly path?: string; readonly dest?: string };
  const file = plan.files.find(({ real }) => [path, dest].includes(join(plan.workspace, real)));
  const refusedPath =
    file === undefined ? (path ?? plan.workspace) : join(plan.workspace, file.real);
  const mounts = new Set(await mountPoints(sys).catch(() => []));
  const known =
    file === undefined
      ? null
      : await refusal(sys, plan.workspace, file, { mounts, seen: new Set() }).catch(() => null);
  const look = `the system refuses to change ${refusedPath} (${errno}). Find the cause: findmnt -T ${shellWord(refusedPath)}; lsattr -d ${shellWord(refusedPath)}; fix it`;
  const began = `The change in ${plan.workspace} is partly written`;
  return new ProblemError(
    problem('disk', `${began}: ${known ?? look}, then try again: it continues where it stopped.`),
  );
};

const STICKY = 0o1000;
const CLEAR = process.platform === 'darwin' ? 'sudo chflags nouchg,nouappnd' : 'sudo chattr -i -a';
const fixed = (path: string): string =>
  `is immutable or append-only. Type: ${CLEAR} ${shellWord(path)}`;

/** Returns the reason for which the path cannot be replaced, as the end of a sentence; null: none is known. `seen`: directories that were examined. */
const refusal = async (
  sys: Sys,
  workspace: string,
  { real, base, owner }: Pick<PlannedFile, 'real' | 'base' | 'owner'>,
  { mounts, seen }: { readonly mounts: ReadonlySet<string>; readonly seen: Set<string> },
): Promise<string | null> => {
  const [path, dir] = [join(workspace, real), join(workspace, dirOf(real))];
  if (mounts.has(path)) return `${path} is a mount point. Type: sudo umount ${shellWord(path)}`;
  const us = process.geteuid?.() ?? 0;
  const place = await orNull(sys.stat(dir), ['ENOENT', 'ENOTDIR']);
  // The directory does not exist yet: it is made in the one above.
  const above = { real: dirOf(real), base: null, owner: null };
  if (place === null)
    return above.real === '' ? null : refusal(sys, workspace, above, { mounts, seen });
  // The file is opened for writing, but not written: only these attributes answer EPERM. A missing permission (EACCES) does not prevent a rename.
  if (base !== null && (await isRefused(sys.openToWrite(path)))) return `${path} ${fixed(path)}`;
  if (
    base !== null &&
    owner !== null &&
    (place.mode & STICKY) !== 0 &&
    ![0, place.uid, owner.uid].includes(us)
  )
    return `${path} belongs to another user (${owner.uid}) in a sticky directory. Type: sudo chown ${us} ${shellWord(path)}`;
  // The time of the directory changes anyway when a file is made in it. For a directory of another owner, EPERM would show only the owner.
  if (place.uid === us && !seen.has(dir) && (await isRefused(sys.touch(dir))))
    return `${dir} ${fixed(dir)}`;
  seen.add(dir);
  return null;
};

const isRefused = async (call: Promise<void>): Promise<boolean> =>
  (await call.then(() => null, errnoOf)) === 'EPERM';
