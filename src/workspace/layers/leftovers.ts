/** Finds and removes the layers that commands left which did not end by themselves, after a SIGKILL or a power cut for example. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { orNull } from '../../system/durable.js';
import { ABSENT } from '../../system/given-file.js';
import { leftBehind } from '../../system/scratch.js';
import { layersDir } from './paths.js';
import { removeTree } from './remove.js';

/** Name of a directory that `makeOwnedDirectory` made for one command. */
const OWNED = /^[a-z]+\.([0-9a-f]{8})\.(\d+)\.([0-9a-f]{8})\./;

/** The layers of one run. */
export interface RunLayers {
  /** Key of the run, or another name that commands without a run use. */
  readonly run: string;
  readonly path: string;
  /** Time of the last change of its list of layers. */
  readonly changed_ms: number;
  /** Layers of processes that have ended. */
  readonly dead: readonly string[];
  /** A process that may be alive works in one of the layers. */
  readonly isUsed: boolean;
}

export interface Size {
  readonly files: number;
  readonly bytes: number;
}

/** Lists the layers of a home, by run. */
export async function listLayers(home: string): Promise<readonly RunLayers[]> {
  const runs = (await orNull(readdir(layersDir(home)), ABSENT)) ?? [];
  const listed = await Promise.all(
    runs.sort().map((run) => layersOf(run, join(layersDir(home), run))),
  );
  return listed.filter((layers) => layers !== null);
}

async function layersOf(run: string, path: string): Promise<RunLayers | null> {
  const stat = await orNull(lstat(path), ABSENT);
  const names = await orNull(readdir(path), [...ABSENT, 'EACCES']);
  if (stat === null || names === null) return null;
  const dead = await leftBehind(path, OWNED);
  const isUsed = names.some((name) => OWNED.test(name) && !dead.includes(join(path, name)));
  return { run, path, changed_ms: stat.mtimeMs, dead, isUsed };
}

/** Removes the layers of processes that have ended, and returns their paths. A layer that cannot be removed stays. */
export async function clearLayers(home: string): Promise<readonly string[]> {
  const removed: string[] = [];
  const listed = (await listLayers(home).catch(() => [])).flatMap(({ dead }) => dead);
  for (const path of listed) if (await clearLayer(path)) removed.push(path);
  return removed;
}

/** Removes one layer, or all layers of a run. False: it cannot be removed. */
export const clearLayer = (path: string): Promise<boolean> =>
  removeTree(path).then(
    () => true,
    () => false,
  );

/** Counts the files below a path and their bytes. A directory that cannot be read counts as empty. */
export async function sizeOf(path: string): Promise<Size> {
  let files = 0;
  let bytes = 0;
  const directories = [path];
  for (const directory of directories) {
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const child = join(directory, entry.name);
      if (entry.isDirectory()) directories.push(child);
      if (!entry.isFile()) continue;
      files++;
      bytes += (await orNull(lstat(child), [...ABSENT, 'EACCES']))?.size ?? 0;
    }
  }
  return { files, bytes };
}
