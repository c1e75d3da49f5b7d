/**
 * Takes over what commit hooks leave. They chose what is there, so no link is followed, and our git never opens a file that a hook could
 * have replaced: the index is copied first, and a directory of objects is used only if there is nothing in it but objects.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { STORE_BOUNDS } from '../../shared/bounds.js';
import { fail } from '../../shared/problems.js';
import { listBeneath, readBeneath, statBeneath } from '../../system/beneath.js';

const INDEX_BYTES = 1024 ** 3; // bound: Size of an index that a hook leaves: about ten million files.
const MESSAGE_BYTES = 1024 ** 2; // bound: Size of a commit message that a hook leaves.

/** The directory of a commit's hooks: they may write all of it. */
export interface HookFiles {
  readonly index: string;
  readonly objects: string;
  readonly message: string;
}
export const filesIn = (dir: string): HookFiles => ({
  index: join(dir, 'index'),
  objects: join(dir, 'objects'),
  message: join(dir, MESSAGE),
});
const MESSAGE = 'COMMIT_EDITMSG';

const refuse = (hook: string, what: string): never =>
  fail('hook_failed', `the ${hook} hook ${what}, so nothing was committed`);

/** Reads a file of the hooks' directory. Throws ProblemError `hook_failed` for anything but a regular file. */
async function take(dir: string, name: string, hook: string, max_bytes: number): Promise<Buffer> {
  const read = await readBeneath(dir, name, max_bytes);
  if (read.ok) return read.value.bytes;
  if (read.reason === 'absent') return refuse(hook, `removed ${name}`);
  if (read.reason === 'forbidden') return refuse(hook, `left ${name} unreadable`);
  const isLarge = read.reason === 'too_large';
  return refuse(hook, `left ${name} ${isLarge ? 'too large' : 'as something other than a file'}`);
}

/** Returns the message that the commit-msg hook left. */
export const takeMessage = async (dir: string): Promise<string> =>
  (await take(dir, MESSAGE, 'commit-msg', MESSAGE_BYTES)).toString('utf8');

/** Copies the index that the pre-commit hook left to `to`, which no hook can reach. */
export const takeIndex = async (dir: string, to: string): Promise<void> =>
  writeFile(to, await take(dir, 'index', 'pre-commit', INDEX_BYTES), { flag: 'wx' });

const ALTERNATES = ['info/alternates', 'info/http-alternates'];

/**
 * Makes sure that the objects of a sandboxed pre-commit hook are nothing but real files, in real directories one level deep, and name no
 * other objects: git would follow a link and `info/alternates` out of the directory. Throws ProblemError `hook_failed`.
 */
export async function checkObjects(dir: string): Promise<void> {
  for (const name of await namesIn(dir, 'objects')) {
    if (await isDirectory(dir, `objects/${name}`))
      for (const below of await namesIn(dir, `objects/${name}`))
        await checkObject(dir, `${name}/${below}`);
    else await checkObject(dir, name);
  }
}

async function namesIn(dir: string, path: string): Promise<readonly string[]> {
  const names = await listBeneath(dir, path);
  if (names.ok) return names.value;
  if (names.reason === 'forbidden') return refuse('pre-commit', 'left its git objects unreadable');
  return refuse('pre-commit', 'replaced its directory of git objects');
}

async function isDirectory(dir: string, path: string): Promise<boolean> {
  const stat = await statBeneath(dir, path);
  return stat.ok && stat.value.isDirectory();
}

async function checkObject(dir: string, path: string): Promise<void> {
  const stat = await statBeneath(dir, `objects/${path}`);
  if (!stat.ok && stat.reason === 'forbidden')
    refuse('pre-commit', 'left its git objects unreadable');
  if (!stat.ok || !stat.value.isFile() || ALTERNATES.includes(path))
    refuse('pre-commit', `left objects/${path}, which is no git object`);
}

/** A file of the proposal as a hook left it in the working tree that it saw. */
export interface ChangedFile {
  /** Relative to the top of the working tree. */
  readonly path: string;
  readonly bytes: Buffer;
  readonly mode: number;
}

/** Returns those of the files that a hook changed in the upper layer of its overlay. What it left there as no file is no change. */
export async function changedFiles(
  upper: string,
  root: string,
  paths: readonly string[],
): Promise<readonly ChangedFile[]> {
  const changed: ChangedFile[] = [];
  for (const path of paths) {
    const file = await readBeneath(upper, path, STORE_BOUNDS.target_bytes);
    if (!file.ok) continue;
    // A write of the same bytes, or a `touch`, also copies a file to the upper layer.
    const before = await readBeneath(root, path, STORE_BOUNDS.target_bytes);
    if (!before.ok || !before.value.bytes.equals(file.value.bytes))
      changed.push({ path, ...file.value });
  }
  return changed;
}
