/** Makes directories and removal marks in a layer. */
import { execFile } from 'node:child_process';
import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { refusalText, withParent, type Directory } from '../../system/beneath.js';
import { orNull } from '../../system/durable.js';
import { ownPath } from '../../system/programs.js';
import { entryAt } from './entries.js';

const WRITABLE = 0o700;
const MARKS_AT_ONCE = 200; // bound: Removal marks that one process makes.

/**
 * Makes the directories of a file in a layer with the modes that they have in the workspace, which the layer's would hide. This user may
 * write each of them, or nothing could be put in it.
 */
export async function makeParents(workspace: string, layer: string, path: string): Promise<void> {
  const parents = dirname(path) === '.' ? [] : dirname(path).split('/');
  for (const [index] of parents.entries()) {
    const parent = parents.slice(0, index + 1).join('/');
    const stat = await entryAt(workspace, parent);
    const mode = stat?.isDirectory() === true ? (stat.mode & 0o7777) | WRITABLE : null;
    const result = await withParent(layer, parent, (above, name) => makeIn(above, name, mode));
    if (!result.ok) throw new Error(`the layer ${layer} cannot be filled: ${refusalText(result)}`);
  }
}

async function makeIn(above: Directory, name: string, mode: number | null) {
  const isNew = await orNull(
    mkdir(above.pathOf(name)).then(() => true),
    ['EEXIST'],
  );
  if (isNew !== null && mode !== null) await chmod(above.pathOf(name), mode);
  return { ok: true, value: null } as const;
}

const run = promisify(execFile);

/** Makes the kernel's marks for removed names in a layer, whose directories exist. Node.js has no call that makes a device. */
export async function markRemoved(layer: string, paths: readonly string[]): Promise<void> {
  for (let done = 0; done < paths.length; done += MARKS_AT_ONCE) {
    const marks = paths.slice(done, done + MARKS_AT_ONCE).map((path) => join(layer, path));
    await run('/bin/sh', ['-c', 'for f; do mknod "$f" c 0 0 || exit; done', 'sh', ...marks], {
      env: { PATH: ownPath() },
    });
  }
}
