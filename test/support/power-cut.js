/**
 * The system calls of a worker, and a power cut: `cut` takes back what was created, renamed or appended and not synced since, and kills the
 * process. It uses calls that hold the thread, so nothing comes in between. What else a power cut may leave: test/stores/before.test.ts.
 */
import { lstatSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Returns null if there is no file. */
const sizeOf = (path) => lstatSync(path, { throwIfNoEntry: false })?.size ?? null;

/** What a power cut would take. */
class Unsynced {
  /** Each name that is not durable, with the durable name that its file had, or null. */
  names = new Map();
  /** Each file with bytes that are not durable, with the number of those that are. */
  lengths = new Map();
  newNames = 0;

  addName(path, durableName = null) {
    this.newNames += 1;
    this.names.set(path, durableName);
  }

  forget(path) {
    this.names.delete(path);
    this.lengths.delete(path);
  }

  syncDirectory(path) {
    for (const name of this.names.keys()) if (dirname(name) === path) this.names.delete(name);
  }

  takeBack() {
    for (const [path, durable_bytes] of this.lengths) truncateSync(path, durable_bytes);
    for (const [path, durableName] of this.names) {
      if (durableName === null) rmSync(path, { recursive: true, force: true });
      else if (sizeOf(path) !== null) renameSync(path, durableName);
    }
  }
}

const watchedSys = (realSys, unsynced) => {
  /** Makes the call, then notes that the argument with this index is a new name. */
  const creating =
    (call, pathIndex) =>
    async (...args) => {
      const result = await realSys[call](...args);
      unsynced.addName(args[pathIndex]);
      return result;
    };
  return {
    ...realSys,
    writeExclusive: creating('writeExclusive', 0),
    copyExclusive: creating('copyExclusive', 1),
    mkdir: creating('mkdir', 0),
    link: creating('link', 1),
    append: async (path, bytes, sync) => {
      const size_bytes = sizeOf(path);
      const written = await realSys.append(path, bytes, sync);
      if (size_bytes === null) unsynced.addName(path);
      if (sync === undefined) unsynced.lengths.delete(path);
      else if (!unsynced.lengths.has(path)) unsynced.lengths.set(path, size_bytes ?? 0);
      return written;
    },
    rename: async (from, to) => {
      await realSys.rename(from, to);
      unsynced.addName(to, unsynced.names.has(from) ? null : from);
      unsynced.forget(from);
    },
    unlink: async (path) => {
      await realSys.unlink(path);
      unsynced.forget(path);
    },
    fsyncFile: async (path) => {
      await realSys.fsyncFile(path);
      unsynced.lengths.delete(path);
    },
    fsyncDir: async (path) => {
      await realSys.fsyncDir(path);
      unsynced.syncDirectory(path);
    },
  };
};

/** `mark`: a file that gets the number of names that the process created. */
export const withPowerCut = (realSys, mark) => {
  const unsynced = new Unsynced();
  const cut = () => {
    unsynced.takeBack();
    writeFileSync(mark, String(unsynced.newNames));
    process.kill(process.pid, 'SIGKILL');
  };
  return { sys: watchedSys(realSys, unsynced), cut };
};
