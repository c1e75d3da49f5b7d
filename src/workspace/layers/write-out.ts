/**
 * Copies what a command wrote at the paths of `sandbox.write` from its layer into the workspace. Only regular files are copied, and no link
 * is followed on either side: the command chose what is in its layer, and the workspace may have links that lead out.
 */
import { posix } from 'node:path';
import { writeRefusal } from '../../documents/job/index.js';
import {
  listBeneath,
  refusalText,
  removeBeneath,
  replaceBeneath,
  statBeneath,
  withFileBeneath,
  type Refusal,
} from '../../system/beneath.js';
import { read, writeAll } from '../../system/fs.js';
import { isWithin } from '../../system/paths.js';
import { changesIn, type Change, type ChangesRequest } from './changes.js';
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
    const reason = this.#reason(path);
    if (reason !== null) return reason;
    const copied = await withFileBeneath(upper, path, async (source) => {
      const { size, mode } = source.stat;
      if (size > this.#remaining_bytes)
        return { ok: true, value: `the command wrote more than ${WRITTEN_BYTES} bytes` };
      this.#remaining_bytes -= size;
      const written = await replaceBeneath(workspace, path, {
        mode: mode & 0o777,
        write: (target) => copyBytes(source.fd, target, size),
      });
      return { ok: true, value: written.ok ? null : workspaceReason(written, path) };
    });
    return copied.ok ? copied.value : 'the command left something other than a file';
  }

  /** Removes a file, or a directory with all files that may be removed. */
  async #remove(path: string): Promise<void> {
    const { workspace } = this.#place;
    const stat = await statBeneath(workspace, path);
    if (!stat.ok && stat.reason === 'absent') return;
    const reason = this.#reason(path) ?? (stat.ok ? null : workspaceReason(stat, path));
    if (reason !== null) {
      this.#refuse(path, reason);
      return;
    }
    if (!stat.ok || !stat.value.isDirectory()) {
      const removed = await removeBeneath(workspace, path);
      if (!removed.ok) this.#refuse(path, workspaceReason(removed, path));
      else if (removed.value) this.#removed.push(path);
      return;
    }
    const names = await listBeneath(workspace, path);
    for (const name of names.ok ? names.value : []) await this.#remove(`${path}/${name}`);
    // It may have files that stay.
    await removeBeneath(workspace, path);
  }
}

/** Returns why the workspace cannot have the path. */
function workspaceReason(refusal: Refusal, path: string): string {
  if (refusal.path !== path) return refusalText(refusal);
  const isOther = refusal.reason === 'link' || refusal.reason === 'not_a_file';
  return isOther ? 'it is not a regular file in the workspace' : refusalText(refusal);
}

/** Copies a file, but no more than it had before. */
async function copyBytes(source: number, target: number, size: number): Promise<void> {
  const part = Buffer.alloc(PART_BYTES);
  for (let remaining = size; remaining > 0;) {
    const count = await read(source, part.subarray(0, Math.min(part.length, remaining)), null);
    if (count === 0) return;
    await writeAll(target, part.subarray(0, count));
    remaining -= count;
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
