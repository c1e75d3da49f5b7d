/**
 * Copies what a command wrote at the paths of `sandbox.write` from its layer into the workspace. Only regular files are copied, and no link
 * is followed on either side: the command chose what is in its layer, and the workspace may have links that lead out.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { writeRefusal } from '../../documents/job/index.js';
import { isWithin } from '../commands/mounts.js';
import { ProblemError } from '../../shared/problems.js';
import { changesIn, openInLayer, type Change, type ChangesRequest } from './changes.js';
import { entryAt } from './entries.js';
import { isProgram } from './programs.js';

export interface WriteOutRequest {
  /** Files and directories, relative to the workspace. */
  readonly paths: readonly string[];
  /** Paths that stay as they are: those of the proposal. */
  readonly except: readonly string[];
  /** Patterns of `emend.yaml` for files that only a reviewer may change (`ProjectConfig.protected`). */
  readonly protectedPatterns: readonly string[];
}

export interface WriteOutResult {
  /** Files that were written, relative to the workspace, as all paths here. */
  readonly written: readonly string[];
  readonly removed: readonly string[];
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
}

interface Place extends Pick<ChangesRequest, 'upper' | 'shownNames'> {
  /** Real path. */
  readonly workspace: string;
  /** Directories on PATH in the workspace, relative to it. */
  readonly programs: readonly string[];
}

const WRITTEN_BYTES = 1024 ** 3; // bound: Bytes that one command may write into the workspace by `sandbox.write`.
const WRITTEN_FILES = 10_000; // bound: Files that one command may write or remove there.
const PART_BYTES = 65_536; // bound: A file is copied in parts of this size.

/** Writes and removes files in the workspace as the command did in its layer, after it has ended. */
export async function writeOut(place: Place, request: WriteOutRequest): Promise<WriteOutResult> {
  const copier = new Copier(place, request);
  const paths = request.paths.map((path) => posix.normalize(path).replace(/\/$/, ''));
  const isWanted = (path: string): boolean =>
    paths.some((listed) => listed === '.' || isWithin(path, listed) || isWithin(listed, path));
  const changes = await changesIn({ ...place, below: [place.workspace] }, isWanted);
  for (const change of changes) {
    const isListed = paths.some((path) => path === '.' || isWithin(change.path, path));
    if (isListed) await copier.take(change);
    // Else the command changed a directory above a listed path.
    else
      for (const path of paths.filter((listed) => isWithin(listed, change.path)))
        await copier.take({ path, kind: aboveKind(change) });
  }
  return copier.result;
}

const aboveKind = ({ kind }: Change): Change['kind'] => (kind === 'removed' ? 'removed' : 'other');

class Copier {
  readonly #written: string[] = [];
  readonly #removed: string[] = [];
  readonly #refused: { readonly path: string; readonly reason: string }[] = [];
  #remaining_bytes = WRITTEN_BYTES;
  readonly #place: Place;
  readonly #reasonAgainst: (path: string) => string | null;

  constructor(place: Place, request: WriteOutRequest) {
    this.#place = place;
    this.#reasonAgainst = reasonsAgainst(place, request);
  }

  get result(): WriteOutResult {
    return { written: this.#written, removed: this.#removed, refused: this.#refused };
  }

  async take({ path, kind }: Change): Promise<void> {
    if (kind === 'removed') return this.#remove(path);
    const reason =
      kind === 'file' ? await this.#copy(path) : 'the command left something other than a file';
    if (reason === null) this.#written.push(path);
    else this.#refuse(path, reason);
  }

  #refuse(path: string, reason: string): void {
    this.#refused.push({ path, reason });
  }

  #reason(path: string): string | null {
    if (this.#written.length + this.#removed.length >= WRITTEN_FILES)
      return `the command changed more than ${WRITTEN_FILES} files`;
    return this.#reasonAgainst(path);
  }

  /** Returns why the file was not copied; null: it was. */
  async #copy(path: string): Promise<string | null> {
    const { upper, workspace } = this.#place;
    const reason = this.#reason(path) ?? (await makeRealParents(workspace, path));
    if (reason !== null) return reason;
    const there = await entryAt(join(workspace, path));
    if (there !== null && !there.isFile()) return 'it is not a regular file in the workspace';
    try {
      const source = await openInLayer(upper, path);
      if (source === null) return 'it is no longer in the layer';
      try {
        const { size, mode } = await source.stat();
        if (size > this.#remaining_bytes)
          return `the command wrote more than ${WRITTEN_BYTES} bytes`;
        this.#remaining_bytes -= size;
        await replaceFile(join(workspace, path), source, mode & 0o777);
        return null;
      } finally {
        await source.close();
      }
    } catch (error) {
      if (error instanceof ProblemError) return 'the command left something other than a file';
      throw error;
    }
  }

  /** Removes a file, or a directory with all files that may be removed. */
  async #remove(path: string): Promise<void> {
    const { workspace } = this.#place;
    const stat = await entryAt(join(workspace, path));
    if (stat === null) return;
    const reason = this.#reason(path) ?? (await realParents(workspace, path));
    if (reason !== null) {
      this.#refuse(path, reason);
      return;
    }
    if (!stat.isDirectory()) {
      await unlink(join(workspace, path));
      this.#removed.push(path);
      return;
    }
    for (const name of (await readdir(join(workspace, path))).sort())
      await this.#remove(`${path}/${name}`);
    await rmdir(join(workspace, path)).catch(() => undefined); // It has files that stay.
  }
}

/** Returns a function that gives the reason why a path must not be written; null: it may be. */
function reasonsAgainst(
  { programs }: Place,
  { except, protectedPatterns }: WriteOutRequest,
): (path: string) => string | null {
  return (path) => {
    if (path.startsWith('/') || path.split('/').includes('..')) return 'it is not in the workspace';
    if (isProgram(programs, path)) return 'it is in a directory on PATH, or in one of Emend itself';
    if (except.some((other) => isWithin(path, other) || isWithin(other, path)))
      return 'the proposal has this path';
    const expected = writeRefusal(path, protectedPatterns);
    return expected === null ? null : `expected ${expected}`;
  };
}

/** Returns why the path cannot be reached through real directories; null: it can, as far as they exist. */
async function realParents(workspace: string, path: string): Promise<string | null> {
  const parents = dirname(path) === '.' ? [] : dirname(path).split('/');
  for (const [index] of parents.entries()) {
    const stat = await entryAt(join(workspace, ...parents.slice(0, index + 1)));
    if (stat === null) return null;
    if (!stat.isDirectory()) return `${parents.slice(0, index + 1).join('/')} is not a directory`;
  }
  return null;
}

async function makeRealParents(workspace: string, path: string): Promise<string | null> {
  const reason = await realParents(workspace, path);
  if (reason === null) await mkdir(dirname(join(workspace, path)), { recursive: true });
  return reason;
}

type Source = NonNullable<Awaited<ReturnType<typeof openInLayer>>>;

/** Writes the bytes to a new file next to the target, then renames it. */
async function replaceFile(target: string, source: Source, mode: number): Promise<void> {
  const temp = join(
    dirname(target),
    `.emend-${randomBytes(6).toString('hex')}-${basename(target).slice(0, 40)}`,
  );
  const file = await open(temp, 'wx', 0o600);
  try {
    try {
      const part = Buffer.alloc(PART_BYTES);
      for (;;) {
        const { bytesRead } = await source.read(part, 0, part.length, null);
        if (bytesRead === 0) break;
        await file.writeFile(part.subarray(0, bytesRead));
      }
      await file.chmod(mode);
    } finally {
      await file.close();
    }
    await rename(temp, target);
  } catch (error) {
    await unlink(temp).catch(() => undefined);
    throw error;
  }
}
