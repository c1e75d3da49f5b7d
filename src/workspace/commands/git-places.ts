/** Finds a workspace's git directories, and the files that its git configuration names. */
import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import { found, isWithin } from './mounts.js';

export interface GitPlaces {
  readonly top: string;
  /** `.git` in the working tree, the directories that a linked worktree has elsewhere, and what of the tree is configuration. */
  readonly places: readonly string[];
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
  return { top, places: [...places, ...configs.slice(places.length), ...run] };
}
