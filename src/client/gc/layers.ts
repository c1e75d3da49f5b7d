/**
 * Layers that nothing needs: of commands whose process has ended, and all layers of runs that have ended, which keep outputs for their next
 * command. They hold nothing that a person or a run cannot make again, so they are removed without regard to their age.
 */
import { isStepKey } from '../../shared/ids.js';
import { nullOn } from '../../shared/problems.js';
import { together } from '../../system/together.js';
import {
  clearLayer,
  listLayers,
  sizeOf,
  type RunLayers,
  type Size,
} from '../../workspace/layers/index.js';
import { withLive } from '../runs/resolve.js';
import type { Emend } from '../types.js';

export interface UnusedLayers extends Size {
  readonly path: string;
}
interface LayersRequest {
  /** Milliseconds since 1970: layers of a run that nobody knows stay if they changed later. */
  readonly before: number;
  /** Namespaces whose runs count as closed. */
  readonly assumeClosed: readonly string[];
}

/** Throws ProblemError `no_server`. */
export async function unusedLayers(
  emend: Emend,
  request: LayersRequest,
): Promise<readonly UnusedLayers[]> {
  const listed = await listLayers(emend.home);
  const paths = await together(listed, async (layers) =>
    !layers.isUsed && (await hasEnded(emend, layers, request)) ? [layers.path] : layers.dead,
  );
  return together(paths.flat(), async (path) => ({ path, ...(await sizeOf(path)) }));
}

async function hasEnded(
  emend: Emend,
  { run, changed_ms }: RunLayers,
  { before, assumeClosed }: LayersRequest,
): Promise<boolean> {
  const isOld = changed_ms < before;
  if (!isStepKey(run)) return isOld;
  const found = await withLive(emend, run, null).catch(nullOn('disk'));
  if (found === null) return false;
  const { live, archived } = found;
  if (live !== null) return !live.open;
  const namespace = archived.started?.namespace ?? emend.namespace;
  if (namespace !== emend.namespace && !assumeClosed.includes(namespace)) return false;
  return archived.closed !== null || isOld;
}

/** Removes the layers unless a process has begun to work in them since they were found. Returns those that it removed. */
export async function removeLayers(
  home: string,
  unused: readonly UnusedLayers[],
): Promise<readonly UnusedLayers[]> {
  const used = (await listLayers(home)).filter(({ isUsed }) => isUsed).map(({ path }) => path);
  const removed = await together(
    unused.filter(({ path }) => !used.includes(path)),
    async (layers) => ((await clearLayer(layers.path)) ? [layers] : []),
    1,
  );
  return removed.flat();
}
