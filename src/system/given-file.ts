/**
 * Reads files that you or a repository give to Emend: a job, a plan, settings, a manifest, rules, a target. All of them are opened here. A path
 * that is no regular file is refused by name and never waited for (a named pipe would hang its reader), and no more bytes are read than the
 * caller allows.
 */
import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readSync, statSync, type Stats } from 'node:fs';
import { STORE_BOUNDS } from '../shared/bounds.js';
import { fail } from '../shared/problems.js';
import { orNull } from './durable.js';
import * as fs from './fs.js';
import { errnoOf } from './sys.js';

// bound: Bytes of a file that you or a repository give to Emend, unless a caller sets less: lock files of large projects are the largest.
const GIVEN_FILE_BYTES = 64 * 1024 * 1024;
const GIVEN_PART_BYTES = 64 * 1024; // bound: Bytes that are read at a time from a file that grows meanwhile.

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Throws ProblemError `target_not_a_file` or `target_too_large`. */
const check = (path: string, found: Stats, max_bytes: number): void => {
  if (!found.isFile())
    fail(
      'target_not_a_file',
      `${path} is ${fs.kindOf(found)}, expected a file`,
      'Put a file in its place, or remove it.',
    );
  if (found.size > max_bytes) tooLarge(path, max_bytes);
};
const tooLarge = (path: string, max_bytes: number): never =>
  fail(
    'target_too_large',
    `${path} has more than ${max_bytes} bytes`,
    'Reduce the size of the file.',
  );

/**
 * Returns the bytes of a regular file. With `cut` a longer file gives its first `max_bytes`. Throws the errno error of a path that does not
 * exist or may not be read, and ProblemError `target_not_a_file` or `target_too_large`.
 */
export async function readGiven(
  path: string,
  max_bytes: number = STORE_BOUNDS.target_bytes,
  longer: 'refuse' | 'cut' = 'refuse',
): Promise<Buffer> {
  const most = longer === 'cut' ? Infinity : max_bytes;
  // Checked also before it is opened: opening a device may have an effect, and a socket cannot be opened at all.
  check(path, await fs.stat(path), most);
  return fs.withFile(path, READ, 0, async (file) => {
    const found = await fs.fstat(file);
    check(path, found, most);
    const parts: Buffer[] = [];
    // One byte more than there should be: a file may grow meanwhile, and a file of the kernel has no size.
    let total = 0;
    for (let length = Math.min(found.size, max_bytes) + 1; ; length = GIVEN_PART_BYTES) {
      const part = Buffer.allocUnsafe(length);
      const bytesRead = await fs.read(file, part, null);
      parts.push(part.subarray(0, bytesRead));
      total += bytesRead;
      if (total > max_bytes && longer === 'refuse') tooLarge(path, max_bytes);
      if (bytesRead === 0 || total > max_bytes) return Buffer.concat(parts).subarray(0, max_bytes);
    }
  });
}

/** Does the same as readGiven with `refuse`, for callers that cannot wait. */
export function readGivenSync(path: string, max_bytes: number): Buffer {
  check(path, statSync(path), max_bytes);
  const file = openSync(path, READ);
  try {
    const found = fstatSync(file);
    check(path, found, max_bytes);
    const parts: Buffer[] = [];
    // A file of the kernel has no size. Its end is a read that returns nothing.
    let total = 0;
    for (let length = found.size + 1; ; length = GIVEN_PART_BYTES) {
      const part = Buffer.allocUnsafe(length);
      const bytesRead = readSync(file, part, 0, length, null);
      parts.push(part.subarray(0, bytesRead));
      total += bytesRead;
      if (total > max_bytes) tooLarge(path, max_bytes);
      if (bytesRead === 0) return Buffer.concat(parts);
    }
  } finally {
    closeSync(file);
  }
}

/** Errnos of a path that leads to nothing. */
export const ABSENT: readonly string[] = ['ENOENT', 'ENOTDIR'];
/** Errnos of a path that leads to nothing or may not be read, for files that are optional. */
export const UNREADABLE: readonly string[] = [
  ...ABSENT,
  'EACCES',
  'EPERM',
  'ELOOP',
  'ENAMETOOLONG',
];

/** Returns why `readGiven` failed, as a clause that has the path once. */
export const whyUnread = (path: string, error: unknown): string => {
  const code = errnoOf(error);
  if (code !== null && ABSENT.includes(code)) return `${path} does not exist`;
  if (code !== null) return `${path} cannot be read (${code})`;
  return error instanceof Error ? error.message : String(error);
};

const bytesOf = (path: string, none: readonly string[]) =>
  orNull(readGiven(path, GIVEN_FILE_BYTES), none);

/** Returns the text of a file of settings, as UTF-8; null if reading fails with one of the codes. */
export const readGivenText = async (
  path: string,
  none: readonly string[] = ABSENT,
): Promise<string | null> => (await bytesOf(path, none))?.toString('utf8') ?? null;

/**
 * Returns the text of a file of settings; null: there is none. Throws ProblemError `config_invalid` if it cannot be read, also for a broken
 * link: without the file, actions that it forbids would be allowed.
 */
export const readSettings = async (path: string): Promise<string | null> => {
  const bytes = await bytesOf(path, ABSENT).catch((error: unknown) =>
    fail('config_invalid', whyUnread(path, error)),
  );
  if (bytes !== null && !isUtf8(bytes)) return fail('config_invalid', `${path} is not UTF-8 text.`);
  if (bytes === null && (await orNull(fs.lstat(path), ABSENT)) !== null)
    return fail('config_invalid', `${path} is a broken symbolic link`);
  return bytes?.toString('utf8') ?? null;
};
