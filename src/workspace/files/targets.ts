/** What a path of the workspace really is, before anything is read from it. */
import type { Stats } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { checkPath } from '../../edits/index.js';
import { problem, type Problem } from '../../shared/problems.js';
import { lstat, readdir, realpath, stat } from '../../system/fs.js';
import { kindOf } from '../../system/given-file.js';
import { errnoOf } from '../../system/sys.js';
import type { Result } from '../ports.js';
import { foldedName } from '../../shared/text.js';

export const NOT_THERE = 'file not found';
const HINT_CHARS = 4_096; // bound: A code span longer than this names no file.

export interface TargetFacts {
  /** As named, in normal form. */
  readonly path: string;
  /** Workspace-relative path of the file itself: differs from `path` where that leads through symbolic links. This is what is edited. */
  readonly target: string;
  /** Absolute, free of links. */
  readonly realPath: string;
  readonly bytes: number;
  /** Permission bits (0o777 part). */
  readonly mode: number;
  readonly symlink: boolean;
}

/**
 * Facts of an existing regular file inside the workspace. Problems: `target_missing` (and then a file may be made there: its
 * directory lies inside), `target_not_a_file`, `target_outside`, `target_too_large`, `disk` (may not be looked at).
 */
export async function inspectTarget(
  root: string,
  path: string,
  maxFile_bytes: number | null,
): Promise<Result<TargetFacts>> {
  const no = (code: Problem['code'], why: string): Result<TargetFacts> => ({
    ok: false,
    problem: problem(code, `${path}: ${why}`),
  });
  const checked = checkPath(path);
  if (!checked.ok) return no('target_outside', checked.why);
  const realRoot = await realpath(root);
  const inside = (real: string): string | null => {
    const local = relative(realRoot, real).split(sep).join('/');
    return real.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep) && checkPath(local).ok ? local : null;
  };
  const asked = join(realRoot, checked.path);
  let realPath: string;
  let facts: Stats;
  try {
    realPath = await realpath(asked);
    facts = await stat(realPath);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ELOOP') return no('target_not_a_file', 'symbolic links form a loop');
    if (code === 'EACCES' || code === 'EPERM') return no('disk', 'permission denied');
    if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'ENAMETOOLONG') throw error;
    return whyMissing(asked, realRoot, inside, no);
  }
  const target = inside(realPath);
  if (realPath === realRoot) return no('target_not_a_file', 'it is a directory, expected a file');
  if (target === null)
    return no('target_outside', `it points to ${realPath}, which is outside ${realRoot} or belongs to git`);
  if (!facts.isFile()) return no('target_not_a_file', `it is ${kindOf(facts)}, expected a file`);
  if (maxFile_bytes !== null && facts.size > maxFile_bytes) {
    return no('target_too_large', `it has ${facts.size} bytes, at most ${maxFile_bytes} (maxFile_bytes) are edited`);
  }
  const value = {
    path: checked.path,
    target,
    realPath,
    bytes: facts.size,
    mode: facts.mode & 0o777,
    symlink: target !== checked.path,
  };
  return { ok: true, value };
}

/** Nothing is there: is it a dangling link, or a new file, and would a new file lie inside? */
async function whyMissing(
  asked: string,
  realRoot: string,
  inside: (real: string) => string | null,
  no: (code: Problem['code'], why: string) => Result<TargetFacts>,
): Promise<Result<TargetFacts>> {
  const link = await lstat(asked).catch(() => null);
  if (link?.isSymbolicLink()) return no('target_missing', 'it is a broken symbolic link');
  for (let dir = dirname(asked); ; dir = dirname(dir)) {
    const real = await realpath(dir).catch(() => null);
    if (real === null) continue;
    if (real !== realRoot && inside(real) === null)
      return no('target_outside', `${dir} points to ${real}, outside ${realRoot}`);
    if (!(await stat(real)).isDirectory())
      return no('target_missing', `${relative(realRoot, real)} is a file, not a directory`);
    return no('target_missing', NOT_THERE);
  }
}

// Files that a job's instructions speak of.

interface Mention {
  readonly at: number;
  readonly text: string;
  /** In a code span, or a word with a slash or an extension: a bare word must be a file's exact path. */
  readonly pathLike: boolean;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})[^\n]*\n[^]*?(?:^ {0,3}\1[`~]*[ \t]*$|$(?![^]))/gm;
const CODE_SPAN = /(`+)([^`]|[^`][^]*?[^`])\1(?!`)/g;
const WORD = /[^\s`'"“”‘’<>()[\]{}|,;*]+/g;

/**
 * Paths and file names in the Markdown text that name files of the workspace, in order of first mention: an exact path, or the
 * end of exactly one file's path. Fenced blocks (examples, logs) count only where the prose names no file.
 */
export function hintedPaths(instructions: string, files: readonly string[]): string[] {
  const known = new Set(files);
  const byName = new Map<string, string[]>();
  for (const file of files) {
    const name = nameOf(file);
    byName.set(name, [...(byName.get(name) ?? []), file]);
  }
  const prose = instructions.replace(FENCE, (fence) => ' '.repeat(fence.length));
  const found = namedIn(prose, known, byName);
  return found.length > 0 ? found : namedIn(instructions, known, byName);
}

function namedIn(text: string, known: ReadonlySet<string>, byName: ReadonlyMap<string, readonly string[]>): string[] {
  const found = new Set<string>();
  for (const mention of mentionsIn(text)) {
    const path = fileOf(mention, known, byName);
    if (path !== null) found.add(path);
  }
  return [...found];
}

function mentionsIn(text: string): Mention[] {
  const mentions: Mention[] = [];
  for (const span of text.matchAll(CODE_SPAN)) {
    const content = (span[2] ?? '').trim();
    // The whole span may be a path with blanks; its words are looked at below like all others.
    if (content.length <= HINT_CHARS) mentions.push({ at: span.index, text: content, pathLike: true });
  }
  for (const word of text.matchAll(WORD)) {
    if (!word[0].includes('://')) mentions.push({ at: word.index, text: word[0], pathLike: /\/|.\.\w/.test(word[0]) });
  }
  return mentions.sort((a, b) => a.at - b.at);
}

function fileOf(
  { text, pathLike }: Mention,
  known: ReadonlySet<string>,
  byName: ReadonlyMap<string, readonly string[]>,
): string | null {
  if (!pathLike) return null;
  for (const candidate of readings(text)) {
    if (known.has(candidate)) return candidate;
    const ending = (byName.get(nameOf(candidate)) ?? []).filter((file) => file.endsWith(`/${candidate}`));
    if (ending.length === 1 && ending[0] !== undefined) return ending[0];
  }
  return null;
}

/** As written; without `./`, a line number (`a.ts:12:5`, `a.ts#L12`) and the punctuation of the sentence. */
function readings(text: string): string[] {
  const bare = text.replace(/^\.\//, '');
  const trimmed = bare.replace(/[.:!?…]+$/, '');
  const unnumbered = trimmed.replace(/(:\d+(-\d+|:\d+)?|#L\d+(-L?\d+)?)$/, '');
  return [...new Set([bare, trimmed, unnumbered])].filter((reading) => reading !== '');
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

// What stands beside new files under a name that differs in letter case or in how an accent is written.

/** Relative paths of files and folders; none where a folder cannot be read. */
export const namesAround = async (root: string, paths: readonly string[]): Promise<readonly string[]> => {
  const listed = new Map<string, Promise<readonly string[]>>();
  const namesIn = (folder: string): Promise<readonly string[]> => {
    const names = listed.get(folder) ?? readdir(join(root, folder)).catch(() => []);
    listed.set(folder, names);
    return names;
  };
  const found = new Set<string>();
  for (const path of paths) {
    let folder = '';
    for (const part of path.split('/')) {
      const names = await namesIn(folder);
      const folded = foldedName(part);
      for (const name of names) if (name !== part && foldedName(name) === folded) found.add(join(folder, name));
      if (!names.includes(part)) break;
      folder = join(folder, part);
    }
  }
  return [...found];
};

/** Mode bits of a file that an edit makes and whose mode nothing says. */
export const NEW_FILE_MODE = 0o644;
