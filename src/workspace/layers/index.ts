/**
 * What commands write instead of the workspace (docs/decisions/0036). A command sees the workspace at its own path with the proposal over
 * it, and its writes go to a layer of the home that is removed with the run.
 */
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { orNull } from '../../system/durable.js';
import type { Environment } from '../../system/environment.js';
import type { BlobStore } from '../../stores/ports.js';
import type { CommandRunner } from '../commands/index.js';
import { withLayer, type Layer, type LayerRequest } from './layer.js';
import { layersDir } from './paths.js';
import { createProbe } from './probe.js';
import { removeTree } from './remove.js';

export type { Layer, LayerRequest } from './layer.js';
export {
  clearLayer,
  clearLayers,
  listLayers,
  sizeOf,
  type RunLayers,
  type Size,
} from './leftovers.js';
export { layersDir } from './paths.js';
export { stateInLayer } from './state.js';
export type { WriteOutResult } from './write-out.js';
export { removeTree } from './remove.js';

export interface Layers {
  /** Returns why commands cannot get an overlay over this workspace (its real path), in words for the reviewer; null: they can. */
  problem(workspace: string): Promise<string | null>;
  /** Makes the layer of one command, and removes it when `work` has ended. */
  use<T>(request: LayerRequest, work: (layer: Layer) => Promise<T>): Promise<T>;
  /** Returns whether outputs are kept for the next commands of a run. */
  keeps(run: string): Promise<boolean>;
  /** Removes what is kept for the commands of a run. */
  remove(run: string): Promise<void>;
}

export interface LayersOptions {
  readonly home: string;
  readonly blobs: Pick<BlobStore, 'get'>;
  readonly commands: CommandRunner;
  /** Of the commands; its PATH decides which directories of a workspace hold programs. */
  readonly env?: Environment;
}

export const createLayers = ({
  home,
  blobs,
  commands,
  env = process.env,
}: LayersOptions): Layers => {
  const use: Layers['use'] = (request, work) =>
    withLayer({ home, blobs, commands, env }, request, work);
  return {
    problem: createProbe({ home, commands, use }),
    use,
    keeps: async (run) =>
      (await orNull(lstat(join(layersDir(home), run, 'warm')), ['ENOENT'])) !== null,
    remove: (run) => removeTree(join(layersDir(home), run)),
  };
};
