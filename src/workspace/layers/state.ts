/** Says what a command left at one path of the upper layer of its overlay. No link is followed. */
import { statBeneath } from '../../system/beneath.js';

/**
 * `kept`: the command wrote nothing there. `file`: it left a regular file. `removed`: it removed what was there, put something else in its
 * place, or closed a directory above it.
 */
export type LeftState = 'kept' | 'file' | 'removed';

/** Returns what a command left at a path. A directory that it removed and made again has no mark here; `Layer.changes` lists what was in it. */
export async function stateInLayer(upper: string, path: string): Promise<LeftState> {
  const stat = await statBeneath(upper, path);
  if (stat.ok) return stat.value.isFile() ? 'file' : 'removed';
  return stat.reason === 'absent' ? 'kept' : 'removed';
}
