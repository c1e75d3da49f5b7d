/** Finds a workspace's git directories and what its git configuration names, and makes them read-only for commands. */
import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import { found, isWithin, type Mounts, type Overlay } from './mounts.js';

export interface GitPlaces {
  readonly top: string;
  /** `.git` in the working tree, the directories that a linked worktree has elsewhere, and what of the tree is configuration. */
  readonly places: readonly string[];
  /** Directories of objects in other repositories that this one borrows. */
  readonly alternates: readonly string[];
}

export async function gitPlaces(workspace: string): Promise<GitPlaces | null> {
  for (let top = workspace; ; top = dirname(top)) {
    const entry = join(top, '.git');
    const stat = found(() => lstatSync(entry));
    if (stat?.isDirectory() === true) {
      // The place of a command that was killed.
      if (found(() => readdirSync(entry))?.length !== 0) return withIncluded(top, [entry]);
    } else if (stat !== null) {
      const gitDir = /^gitdir: (.+)$/m.exec((await readGivenText(entry, UNREADABLE)) ?? '')?.[1];
      const own = resolve(top, gitDir ?? entry);
      const common = await readGivenText(join(own, 'commondir'), UNREADABLE);
      return withIncluded(top, [entry, own, resolve(own, common?.trim() ?? '')]);
    }
    if (top === '/') return null;
  }
}

const SET =
  /^[ \t]*(?:\[[^\]\n]*\][ \t]*)?(path|clean|smudge|process|driver|program)[ \t]*=[ \t]*(.+)/gim;
/** With the files that the configuration there includes, and those of the working tree that it has git run: ours does, outside a sandbox. */
async function withIncluded(top: string, places: readonly string[]): Promise<GitPlaces> {
  const configs = places.map((place) => join(place, 'config'));
  const run = new Set<string>();
  for (const config of configs)
    for (const [, key = '', value = ''] of (
      (await readGivenText(config, UNREADABLE)) ?? ''
    ).matchAll(SET)) {
      const words = key.toLowerCase() === 'path' ? [] : value.split(/[\s"'`;&|()]+/);
      for (const file of words.map((word) => found(() => realpathSync.native(resolve(top, word)))))
        if (file !== null && isWithin(file, top) && lstatSync(file).isFile()) run.add(file);
      const file = resolve(dirname(config), /^"?([^"#;]*)/.exec(value)?.[1]?.trim() ?? '');
      const isKnown = [...places, ...configs].some((known) => isWithin(file, known));
      if (key.toLowerCase() === 'path' && isWithin(file, top) && !isKnown) configs.push(file);
    }
  return {
    top,
    places: [...places, ...configs.slice(places.length), ...run],
    alternates: await alternatesOf(places.at(-1) ?? top),
  };
}

/** A clone that was made with `--shared` or `--reference` has objects elsewhere. */
async function alternatesOf(gitDirectory: string): Promise<readonly string[]> {
  const objects = join(gitDirectory, 'objects');
  const listed = (await readGivenText(join(objects, 'info/alternates'), UNREADABLE)) ?? '';
  return listed
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => (isAbsolute(line) ? line : resolve(objects, line)));
}

/** Makes the git directories read-only and, if commands write the workspace itself, what git runs or includes from the working tree. */
export function guardGit(
  mounts: Mounts,
  git: GitPlaces,
  { workspace, overlay }: { readonly workspace: string; readonly overlay?: Overlay },
): void {
  const entry = join(git.top, '.git');
  const places =
    overlay === undefined
      ? git.places
      : git.places.filter((place) => place === entry || !isWithin(place, workspace));
  for (const place of places) {
    // No directory above it can be renamed, either.
    for (
      let dir = dirname(place);
      dir !== workspace && isWithin(dir, workspace);
      dir = dirname(dir)
    )
      mounts.show(dir, 'write');
    mounts.show(place, 'guard');
  }
  for (const place of git.alternates) mounts.show(place);
}
