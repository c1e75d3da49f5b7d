/** The git directories around a workspace, and files of the working tree that git's configuration includes or runs. */
import { lstatSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import { isWithin, lookOrNull, realOrNull } from '../../system/paths.js';
import { gitSettings } from './git.js';
import { namedPrograms } from './program-guard.js';
import { sharedGitDirectory } from './shared-directory.js';
import { includedFile, type GitSettings } from './read-settings.js';

export interface GitPlaces {
  readonly top: string;
  /** `.git` in the working tree, the directories that a linked worktree has elsewhere, and what of the tree is configuration. */
  readonly places: readonly string[];
}

/** Returns them by the files alone, as git's own answer may be what a command wrote; null: the workspace is in no repository. */
export async function gitPlaces(workspace: string): Promise<GitPlaces | null> {
  for (let top = workspace; ; top = dirname(top)) {
    const entry = join(top, '.git');
    const stat = lookOrNull(() => lstatSync(entry));
    if (stat?.isDirectory() === true) {
      // An empty one is the cover of a command that was killed.
      if (lookOrNull(() => readdirSync(entry))?.length !== 0) return withNamedFiles(top, [entry]);
    } else if (stat !== null) {
      const gitDir = /^gitdir: (.+)$/m.exec((await readGivenText(entry, UNREADABLE)) ?? '')?.[1];
      const own = resolve(top, gitDir ?? entry);
      return withNamedFiles(top, [entry, own, await sharedGitDirectory(own)]);
    }
    if (top === '/') return null;
  }
}

/** Files of the working tree that git reads as configuration, or that a setting names as a program: your own git runs these. */
function namedFiles(top: string, git: GitSettings): string[] {
  const included = git.settings.flatMap((setting) => [setting.origin, includedFile(setting)]);
  const words = namedPrograms(git).flatMap(({ setting }) => setting.value.split(/[\s"'`;&|()]+/));
  const files = [...included.filter((file) => file !== null), ...words].map((file) =>
    realOrNull(resolve(top, file)),
  );
  return files.filter(
    (file) => file !== null && isWithin(file, top) && lstatSync(file).isFile(),
  ) as string[];
}

async function withNamedFiles(top: string, places: readonly string[]): Promise<GitPlaces> {
  const settings = await gitSettings({ cwd: top });
  const named = settings.ok ? namedFiles(top, settings.value) : [];
  const others = named.filter((file) => !places.some((place) => isWithin(file, place)));
  return { top, places: [...places, ...new Set(others)] };
}
