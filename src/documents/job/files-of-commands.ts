/** Finds the files that a command runs, such as a script of `package.json`. */
import { posix } from 'node:path';

const PATH_CHARS = 4_096; // bound: Characters of a word that may name a file. The kernel does not open a longer path.

const FOLDERS = 20; // bound: Folders that one command enters by `cd` and in which Emend looks for the files that it names.

export const NAMED_FILES = 2_000; // bound: Patterns for files that the scripts of one manifest, or one command, name. If they name more, all files below its folder are protected.

const RUNS_FILES =
  /^(?:node|nodemon|tsx|ts-node|bun|deno|(?:ba|z)?sh|python3?|perl|ruby|php|source)$/;

/**
 * Returns the patterns of the files that a command may run. A word may name a file if it contains a slash or a dot, or if it follows an
 * interpreter: `node scripts/build` runs `scripts/build.js`.
 */
export const namedIn = (command: string, folder: string): readonly string[] => {
  const patterns: string[] = [];
  const folders = [folder];
  let before = '';
  for (const word of wordsOf(command)) {
    if (word.length >= PATH_CHARS) continue;
    const isRun = RUNS_FILES.test(before);
    if (before === 'cd') folders.push(posix.join(folder, word));
    if (folders.length > FOLDERS || patterns.length > NAMED_FILES) return [everythingIn(folder)];
    // Options do not end the search: `node --enable-source-maps build` also runs `build`.
    if (!(isRun && word.startsWith('-'))) before = word;
    const name = word.replace(/^-.*=/, '');
    if (name.startsWith('-') || name.startsWith('/') || !(isRun || /[./]/.test(name))) continue;
    for (const directory of folders) patterns.push(...filesOf(posix.join(directory, name), isRun));
  }
  return patterns;
};

export const everythingIn = (folder: string): string =>
  folder === '' || folder === '.' ? '/**' : `${exactly(folder)}/**`;

/** Splits a command into words. A quoted text is one word, and may also be a command with words of its own. */
const wordsOf = (command: string): readonly string[] =>
  [...command.matchAll(/"([^"]*)"|'([^']*)'|[^\s"';&|()<>]+/g)].flatMap(
    ([word, double, single]) => {
      const inner = double ?? single;
      if (inner === undefined) return [word];
      return /\s/.test(inner) ? [inner, ...inner.split(/\s+/)] : [inner];
    },
  );

const filesOf = (path: string, isRun: boolean): readonly string[] => {
  if (path.startsWith('..')) return [];
  const index = isRun ? [`${path === './' || path === '.' ? '' : exactly(path)}/index.*`] : [];
  if (/^\.?\/?$/.test(path)) return index;
  return [exactly(path), ...(posix.extname(path) === '' ? [`${exactly(path)}.*`] : []), ...index];
};

/** Returns a pattern that matches only this path. */
export const exactly = (path: string): string =>
  `/${posix.normalize(path).replace(/[\\*?[\]! ]/g, '\\$&')}`;
