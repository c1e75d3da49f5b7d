/** Says what a command left at one path of the upper layer of its overlay. No link is followed. */
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../../system/sys.js';

/**
 * `kept`: the command wrote nothing there. `file`: it left a regular file. `removed`: it removed what was there, put something else in its
 * place, or closed a directory above it.
 */
export type LeftState = 'kept' | 'file' | 'removed';

/** Returns what a command left at a path. A directory that it removed and made again has no mark here; `Layer.changes` lists what was in it. */
export async function stateInLayer(upper: string, path: string): Promise<LeftState> {
  const parts = path.split('/');
  let place = upper;
  for (const [index, part] of parts.entries()) {
    place = join(place, part);
    const kind = await kindAt(place);
    if (kind === 'absent') return 'kept';
    if (index === parts.length - 1) return kind === 'file' ? 'file' : 'removed';
    if (kind !== 'directory') return 'removed';
  }
  return 'kept';
}

async function kindAt(place: string): Promise<'absent' | 'file' | 'directory' | 'other'> {
  try {
    const stat = await lstat(place);
    if (stat.isFile()) return 'file';
    return stat.isDirectory() ? 'directory' : 'other';
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return 'absent';
    if (errnoOf(error) === 'EACCES') return 'other';
    throw error;
  }
}
