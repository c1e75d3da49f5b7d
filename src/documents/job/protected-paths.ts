/**
 * Recognizes protected files: those that a program runs, or that an agent follows, without a question. A reviewer sees a change to such a
 * file even under `approval: auto`, with the reason. `protected:` of `emend.yaml` adds patterns, and a pattern with `!` removes files. Pure.
 */
import ignore from 'ignore';
import { posix } from 'node:path';
import { NAMED_FILES, everythingIn, exactly, namedIn } from './files-of-commands.js';
import { APPROVES, OBEYED, commentOf, DEFAULT_PROTECTED } from './protected-patterns.js';
import { FILES_ONLY, forbiddenBy } from '../source/patterns.js';
import { isRecord } from '../../shared/text.js';

interface Configured {
  readonly rules: readonly string[];
  readonly protected: readonly string[];
  readonly approvers: string | null;
  /** Commands of the configuration without the test commands, which run the model's files by design. */
  readonly commands: readonly string[];
}

/** Returns all patterns of an `emend.yaml`. The file of approvers comes last, so that no `!` of the configuration can remove it. */
export const protectedBy = (settings: Configured): readonly string[] => [
  ...DEFAULT_PROTECTED,
  ...[commentOf(OBEYED), ...settings.rules.map(exactly)],
  ...[
    commentOf('a command in emend.yaml uses it'),
    ...settings.commands.flatMap((command) => namedIn(command, '')),
    FILES_ONLY,
  ],
  ...[commentOf('`protected` in emend.yaml lists it'), ...settings.protected],
  ...(settings.approvers === null ? [] : [commentOf(APPROVES), exactly(settings.approvers)]),
];

/** Returns the patterns of the files that the scripts of a manifest name. `path` is the path of the manifest. */
export const namedByScripts = (path: string, source: string): readonly string[] => {
  const scripts = scriptsOf(source);
  const fileNames = scripts.flatMap((script) => namedIn(script, posix.dirname(path)));
  if (fileNames.length === 0) return [];
  const patterns =
    fileNames.length > NAMED_FILES ? [everythingIn(posix.dirname(path))] : new Set(fileNames);
  return [commentOf(`a script in ${path} uses it`), ...patterns, FILES_ONLY];
};

/** Returns the patterns of the files inside the workspace that the git configuration uses, such as hooks. */
export const namedByGit = (paths: readonly string[]): readonly string[] =>
  paths.length === 0
    ? []
    : [commentOf("git's configuration uses it"), ...paths.map(exactly), FILES_ONLY];

const scriptsOf = (source: string): readonly string[] => {
  try {
    const manifest: unknown = JSON.parse(source.replace(/^\uFEFF/, ''));
    const scripts =
      isRecord(manifest) && isRecord(manifest.scripts)
        ? Object.values(manifest.scripts).flat()
        : [];
    return scripts.filter((script) => typeof script === 'string');
  } catch {
    return [];
  }
};

const readPatterns = (patterns: readonly string[]) => {
  const groups = [{ reason: '', matcher: ignore() }];
  for (const pattern of patterns)
    if (pattern.startsWith('# ')) groups.push({ reason: pattern.slice(2), matcher: ignore() });
    else if (!pattern.startsWith('!')) groups.at(-1)?.matcher.add(pattern);
  return {
    key: patterns.join('\n'),
    isForbidden: forbiddenBy(patterns),
    all: ignore().add([...patterns]),
    groups,
  };
};

/** The patterns of the latest call. Reading them takes milliseconds, and a run checks many files of one workspace against the same list. */
let last = readPatterns([]);

/** Returns a function that gives the reason for which these patterns protect a path, in any letter case, or null if they do not. */
export const whyProtected = (patterns: readonly string[]): ((path: string) => string | null) => {
  if (last.key !== patterns.join('\n')) last = readPatterns(patterns);
  const { isForbidden, all, groups } = last;
  return (path) => {
    const folded = foldedPath(path);
    const matchesFolded = folded !== '' && all.ignores(folded);
    const name = path !== '' && isForbidden(path) ? path : folded;
    if (name === folded && !matchesFolded) return null;
    return groups.findLast(({ matcher }) => matcher.ignores(name))?.reason ?? '';
  };
};

/**
 * Returns the path as the file systems of Windows and macOS compare it. They ignore letter case, some characters, the name of a stream, and
 * dots and blanks at the end of a name.
 */
const foldedPath = (path: string): string =>
  path
    .normalize('NFC')
    .toUpperCase()
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .split('/')
    .map((name) => name.replace(/:.*$/, '').replace(/[. ]+$/, ''))
    .filter((name) => name !== '')
    .join('/');
