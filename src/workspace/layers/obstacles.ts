/** Names the reasons why there can be no overlay over a workspace. The kernel's own error is EINVAL for most of them. */
import { mountPoints } from '../../system/mount-info.js';
import { isWithin } from '../../system/paths.js';
import { fileSystemOf } from './file-system.js';
import { unmappedProblem } from './unmapped.js';

/** Real paths. */
export interface OverlayPlaces {
  readonly workspace: string;
  /** Where the home keeps its layers. */
  readonly layers: string;
}

const ELSEWHERE = 'set EMEND_HOME to a directory outside of the workspace';

/** Returns the reason that is known before anything is mounted; null: none is. */
export async function knownObstacle({ workspace, layers }: OverlayPlaces): Promise<string | null> {
  if (isWithin(layers, workspace))
    return `the layers of commands (${layers}) are inside the workspace ${workspace}: ${ELSEWHERE}`;
  if (isWithin(workspace, layers))
    return `the workspace ${workspace} is inside the layers of commands (${layers}): ${ELSEWHERE}`;
  if ((await fileSystemOf(layers)).isOverlay)
    return `the layers of commands (${layers}) are on an overlay file system, as the root of a container is: set EMEND_HOME to a directory on a volume`;
  const below = (await mountPoints()).find(
    (point) => point !== workspace && isWithin(point, workspace),
  );
  if (below !== undefined)
    return `${below} is a mount point inside the workspace, which an overlay cannot show: mount it outside of the workspace, or unmount it`;
  return unmappedProblem(workspace);
}

/** Returns the reason for an overlay that could not be mounted; null: nothing is known, and the kernel's words are all there is. */
export async function failedObstacle({ workspace, layers }: OverlayPlaces): Promise<string | null> {
  const { isOverlay, remote } = await fileSystemOf(workspace);
  const home = (await fileSystemOf(layers)).remote;
  if (home !== null)
    return `the layers of commands (${layers}) are on ${home}, which cannot hold them: set EMEND_HOME to a directory on a local disk`;
  if (remote !== null)
    return `the workspace ${workspace} is on ${remote}, over which this kernel mounts no overlay: use a clone on a local disk`;
  if (isOverlay)
    return `the workspace ${workspace} is on an overlay over another overlay, and the kernel stacks two at most: use a clone on a volume`;
  return null;
}
