/** Makes a workspace's git directories read-only for commands. */
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import { isWithin } from '../../system/paths.js';
import type { GitPlaces } from '../git/git-places.js';
import type { Mounts, Overlay } from './mounts.js';

/** Makes the git directories read-only and, if commands write the workspace itself, what git runs or includes from the working tree. */
export async function guardGit(
  mounts: Mounts,
  git: GitPlaces,
  { workspace, overlay }: { readonly workspace: string; readonly overlay?: Overlay },
): Promise<void> {
  const entry = join(git.top, '.git');
  const places =
    overlay === undefined
      ? git.places
      : git.places.filter((place) => place === entry || !isWithin(place, workspace));
  for (const place of places) {
    // A mount point cannot be renamed, so no directory above it can be either.
    for (
      let dir = dirname(place);
      dir !== workspace && isWithin(dir, workspace);
      dir = dirname(dir)
    )
      mounts.show(dir, 'write');
    mounts.show(place, 'guard');
  }
  for (const place of git.places)
    for (const objects of await alternatesOf(place)) mounts.show(objects);
}

/** Returns the directories of objects that a clone made with `--shared` or `--reference` borrows from other repositories. */
async function alternatesOf(gitDirectory: string): Promise<readonly string[]> {
  const objects = join(gitDirectory, 'objects');
  const listed = (await readGivenText(join(objects, 'info/alternates'), UNREADABLE)) ?? '';
  return listed
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => (isAbsolute(line) ? line : resolve(objects, line)));
}
