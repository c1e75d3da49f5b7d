/**
 * Takes over what commit hooks leave. They chose what is there, so no link is followed, and our git never opens a file that a hook could
 * have replaced: the index is copied first, and a directory of objects is used only if there is nothing in it but objects.
 */
import { lstat, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, ProblemError } from '../../shared/problems.js';
import { orNull } from '../../system/durable.js';
import { errnoOf } from '../../system/sys.js';
import { readFromLayer } from '../layers/index.js';

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
  const read = readFromLayer(dir, name, max_bytes).catch((error: unknown) => {
    if (errnoOf(error) === 'EACCES') return refuse(hook, `left ${name} unreadable`);
    if (!(error instanceof ProblemError)) throw error;
    const isLarge = error.problem.code === 'target_too_large';
    return refuse(hook, `left ${name} ${isLarge ? 'too large' : 'as something other than a file'}`);
  });
  return (await read)?.bytes ?? refuse(hook, `removed ${name}`);
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
  const visit = async (below: string): Promise<void> => {
    const place = join(dir, 'objects', below);
    for (const name of await readdir(place)) {
      const path = join(below, name);
      const stat = await lstat(join(place, name));
      if (stat.isDirectory() && below === '') await visit(name);
      else if (!stat.isFile() || ALTERNATES.includes(path))
        refuse('pre-commit', `left objects/${path}, which is no git object`);
    }
  };
  const top = await orNull(lstat(join(dir, 'objects')), ['ENOENT']);
  if (top?.isDirectory() !== true) refuse('pre-commit', 'replaced its directory of git objects');
  await visit('').catch((error: unknown) => {
    if (errnoOf(error) === 'EACCES') refuse('pre-commit', 'left its git objects unreadable');
    throw error;
  });
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
    const file = await readFile(upper, path);
    if (file === null) continue;
    // A write of the same bytes, or a `touch`, also copies a file to the upper layer.
    const before = await readFile(root, path);
    if (before === null || !before.bytes.equals(file.bytes)) changed.push({ path, ...file });
  }
  return changed;
}
const readFile = (dir: string, path: string) =>
  readFromLayer(dir, path).catch((error: unknown) => {
    if (error instanceof ProblemError || errnoOf(error) === 'EACCES') return null;
    throw error;
  });
