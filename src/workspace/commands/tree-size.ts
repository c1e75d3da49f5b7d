/** Counts what a command has written to its layer, again and again while it runs. */
import { readdir } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { orNull } from '../../system/durable.js';
import { lstat } from '../../system/fs.js';

const REST_FACTOR = 20; // bound: The next count of a layer begins after this many times the duration of the last one.
const BLOCK_BYTES = 512; // bound: Unit of `Stats.blocks`.
const PATH_BYTES = 4_095; // bound: Bytes of the longest path that the kernel takes. What is deeper cannot be counted.

export interface TreeSize {
  readonly bytes: number;
  readonly entries: number;
}
export interface Count extends TreeSize {
  /** There are paths that the kernel does not take, so the count is not complete. */
  readonly isPartial: boolean;
}

/** The kernel and the command change the tree meanwhile, and a directory may forbid reading. */
const GONE = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'];

/** Watches the size of a directory tree without waiting for a count to end. */
export class TreeWatch {
  #nextCount_ms = 0;
  #isCounting = false;
  #isOver = false;
  #largest: Count = { bytes: 0, entries: 0, isPartial: false };

  readonly #dir: string;
  readonly #limit: TreeSize;

  constructor(dir: string, limit: TreeSize) {
    this.#dir = dir;
    this.#limit = limit;
  }

  /** Returns the largest size that was counted, and begins another count if it is time for one, or if one is urgent. */
  size(isUrgent: boolean): Count {
    const isTime = isUrgent || performance.now() >= this.#nextCount_ms;
    if (!this.#isCounting && isTime) void this.#countAgain();
    return this.#largest;
  }

  /** Counts once more, to the end. */
  count(): Promise<Count> {
    return this.#walk();
  }

  /** Ends the count that may be going on. */
  end(): void {
    this.#isOver = true;
  }

  async #countAgain(): Promise<void> {
    this.#isCounting = true;
    const begin_ms = performance.now();
    const size = await this.#walk().catch(() => null);
    const { bytes, entries } = this.#largest;
    if (size !== null && (size.isPartial || size.bytes > bytes || size.entries > entries))
      this.#largest = size;
    const duration_ms = performance.now() - begin_ms;
    this.#nextCount_ms = begin_ms + duration_ms + REST_FACTOR * duration_ms;
    this.#isCounting = false;
  }

  /** Ends early if the tree is larger than allowed. Names are bytes: the command chose them. */
  async #walk(): Promise<Count> {
    const size = { bytes: 0, entries: 0, isPartial: false };
    const linked = new Set<number>();
    const directories: Buffer[] = [Buffer.from(this.#dir)];
    for (let dir = directories.pop(); dir !== undefined; dir = directories.pop()) {
      const names = (await orNull(readdir(dir, 'buffer'), GONE)) ?? [];
      size.entries += names.length;
      if (size.entries > this.#limit.entries) return size;
      for (const name of names) {
        const path = Buffer.concat([dir, SLASH, name]);
        if (path.length > PATH_BYTES) return { ...size, isPartial: true };
        const stat = await orNull(lstat(path), GONE);
        if (stat === null) continue;
        if (isFirst(stat, linked)) size.bytes += stat.blocks * BLOCK_BYTES;
        if (stat.isDirectory()) directories.push(path);
        if (this.#isOver || size.bytes > this.#limit.bytes) return size;
      }
    }
    return size;
  }
}

const SLASH = Buffer.from('/');

/** Returns false for the further names of a file that has several. */
function isFirst({ ino, nlink }: Stats, linked: Set<number>): boolean {
  if (nlink === 1) return true;
  if (linked.has(ino)) return false;
  linked.add(ino);
  return true;
}
