/**
 * The layer of one command: `<home>/layers/<run>/<what>.<where>.<pid>.<born>.<random>/` with `upper`, `work` and `proposal`. Its name says
 * which process made it, so that what a killed process left is found. It is removed when the command has ended.
 */
import { chmod, lstat, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { orNull } from '../../system/durable.js';
import { makeOwnedDirectory } from '../../system/scratch.js';
import type { BlobStore } from '../../stores/ports.js';
import type { ExpectedFile } from '../ports.js';
import type { Overlay } from '../commands/index.js';
import { changesIn, type Change } from './changes.js';
import { layersDir } from './paths.js';
import { removeTree } from './remove.js';

export interface LayerRequest {
  /** Key of the run that the layer belongs to; the name of its directory. */
  readonly run: string;
  /** Real path of the workspace. */
  readonly workspace: string;
  /** Files that the command sees instead of the workspace's; `result` null: the command does not see the file. */
  readonly proposal: readonly ExpectedFile[];
  /** The outputs that earlier commands of this run left where git ignores them are there, and this command's are kept. */
  readonly isWarm: boolean;
}

export interface Layer {
  /** For `Box.overlay`. */
  readonly overlay: Overlay;
  /** What the command wrote or removed, once it has ended. */
  changes(): Promise<readonly Change[]>;
}

/** Makes the layer, and removes it when `use` has ended. */
export async function withLayer<T>(
  { home, blobs }: { readonly home: string; readonly blobs: Pick<BlobStore, 'get'> },
  request: LayerRequest,
  use: (layer: Layer) => Promise<T>,
): Promise<T> {
  const parent = join(layersDir(home), request.run);
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const dir = await makeOwnedDirectory(parent, 'command');
  try {
    const upper = join(dir, 'upper');
    const work = join(dir, 'work');
    const proposal = join(dir, 'proposal');
    for (const made of [upper, work, proposal]) await mkdir(made);
    // The top directory of the mount shows the attributes of its topmost layer.
    const { mode } = await lstat(request.workspace);
    for (const shown of [upper, proposal]) await chmod(shown, mode & 0o7777);
    await writeProposal(blobs, request, proposal);
    const lower = request.proposal.length === 0 ? [] : [proposal];
    return await use({ overlay: { lower, upper, work }, changes: () => changesIn(upper) });
  } finally {
    await removeTree(dir);
  }
}

const run = promisify(execFile);

async function writeProposal(
  blobs: Pick<BlobStore, 'get'>,
  { workspace, proposal: files }: LayerRequest,
  dir: string,
): Promise<void> {
  const removed: string[] = [];
  for (const { path, result } of files) {
    await makeParents(workspace, dir, path);
    if (result === null) removed.push(join(dir, path));
    else {
      await writeFile(join(dir, path), await blobs.get(result.ref));
      await chmod(join(dir, path), result.mode & 0o777);
    }
  }
  // Node.js has no call that makes a device: this one is the kernel's mark for a removed name.
  for (const path of removed) await run('mknod', [path, 'c', '0', '0']);
}

/** Makes the directories of a file in a layer with the modes that they have in the workspace, which the layer's would hide. */
async function makeParents(workspace: string, dir: string, path: string): Promise<void> {
  const parents = dirname(path) === '.' ? [] : dirname(path).split('/');
  for (const [index] of parents.entries()) {
    const parent = parents.slice(0, index + 1).join('/');
    const made = await orNull(mkdir(join(dir, parent)), ['EEXIST']);
    if (made === null) continue;
    const stat = await orNull(lstat(join(workspace, parent)), ['ENOENT', 'ENOTDIR']);
    if (stat?.isDirectory() === true) await chmod(join(dir, parent), stat.mode & 0o7777);
  }
}
