/**
 * The layer of one command: `<home>/layers/<run>/<what>.<where>.<pid>.<born>.<random>/` with `upper`, `work`, `proposal` and the `warm`
 * outputs of earlier commands. Its name says which process made it, so that what a killed process left is found. It is removed when the
 * command has ended.
 */
import { chmod, lstat, mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../../system/environment.js';
import { orNull } from '../../system/durable.js';
import { makeOwnedDirectory } from '../../system/scratch.js';
import type { BlobStore } from '../../stores/ports.js';
import type { CommandRunner, Overlay } from '../commands/index.js';
import type { ExpectedFile } from '../ports.js';
import { changesIn, type Change, type ShownNames } from './changes.js';
import { makeParents, markRemoved } from './parents.js';
import { layersDir } from './paths.js';
import { programDirectories } from './programs.js';
import { removeTree } from './remove.js';
import { namesIn } from './view.js';
import { keepOutputs, putBackOutputs, takeOutputs, type Outputs } from './warm.js';
import { writeOut, type WriteOutRequest, type WriteOutResult } from './write-out.js';

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
  /** What the command wrote or removed, once it has ended. `isWanted`: as for `changesIn`. */
  changes(isWanted?: (path: string) => boolean): Promise<readonly Change[]>;
  /** Writes into the workspace what the command left at paths of `sandbox.write`, once it has ended. */
  writeOut(request: WriteOutRequest): Promise<WriteOutResult>;
  /** Keeps none of this command's outputs: they may be incomplete, as those of a command that was ended. */
  discardOutputs(): void;
}

export interface LayerPorts {
  readonly home: string;
  readonly blobs: Pick<BlobStore, 'get'>;
  readonly commands: CommandRunner;
  readonly env: Environment;
}

/** Makes the layer, and removes it when `use` has ended. If `use` throws, none of the command's outputs are kept. */
export async function withLayer<T>(
  ports: LayerPorts,
  request: LayerRequest,
  use: (layer: Layer) => Promise<T>,
): Promise<T> {
  const run = join(layersDir(ports.home), request.run);
  const dir = await makeCommandDirectory(run);
  try {
    const outputs = request.isWarm ? await takeOutputs(run, dir, request.proposal) : null;
    try {
      return await useLayer(ports, request, { dir, outputs }, use);
    } finally {
      if (outputs !== null) await putBackOutputs(run, outputs);
    }
  } finally {
    await removeTree(dir);
    // It stays while it has outputs or the layer of another command.
    await orNull(rmdir(run), ['ENOTEMPTY', 'EEXIST', 'ENOENT']);
  }
}

/** Makes a directory for one command in that of its run, which another command may remove at its end. */
async function makeCommandDirectory(run: string): Promise<string> {
  for (;;) {
    await mkdir(run, { recursive: true, mode: 0o700 });
    const dir = await orNull(makeOwnedDirectory(run, 'command'));
    if (dir !== null) return dir;
  }
}

interface Place {
  /** The command's own directory. */
  readonly dir: string;
  readonly outputs: Outputs | null;
}

async function useLayer<T>(
  { commands, blobs, env }: LayerPorts,
  request: LayerRequest,
  { dir, outputs }: Place,
  use: (layer: Layer) => Promise<T>,
): Promise<T> {
  const { workspace, proposal } = request;
  const upper = join(dir, 'upper');
  const work = join(dir, 'work');
  const proposed = join(dir, 'proposal');
  for (const path of [upper, work, proposed]) await mkdir(path);
  // The top directory of the mount shows the attributes of its topmost layer.
  const { mode } = await lstat(workspace);
  for (const shown of [upper, proposed]) await chmod(shown, mode & 0o7777);
  await writeProposal(blobs, request, proposed);
  const lower = [...(outputs?.layers ?? []), ...(proposal.length === 0 ? [] : [proposed])];
  const overlay = { lower, upper, work };
  const view = { commands, workspace, overlay, dir: join(dir, 'view') };
  const shownNames: ShownNames = (directories) => namesIn(view, directories);
  const programs = programDirectories(env, workspace);
  let isKept = outputs !== null;
  const value = await use({
    overlay,
    changes: (isWanted) =>
      changesIn({ upper, below: [...lower.toReversed(), workspace], shownNames }, isWanted),
    writeOut: (paths) => writeOut({ upper, workspace, shownNames, programs }, paths),
    discardOutputs: () => {
      isKept = false;
    },
  });
  if (isKept && outputs !== null)
    await keepOutputs({ outputs, upper, workspace, proposal, programs, shownNames });
  return value;
}

async function writeProposal(
  blobs: Pick<BlobStore, 'get'>,
  { workspace, proposal: files }: LayerRequest,
  dir: string,
): Promise<void> {
  const removed: string[] = [];
  for (const { path, result } of files) {
    await makeParents(workspace, dir, path);
    if (result === null) removed.push(path);
    else {
      await writeFile(join(dir, path), await blobs.get(result.ref));
      await chmod(join(dir, path), result.mode & 0o777);
    }
  }
  await markRemoved(dir, removed);
}
