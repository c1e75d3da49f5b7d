/** What a path of the workspace really is, before anything is read from it. */
import { join } from 'node:path';
import { problem, type Problem } from '../../shared/problems.js';
import { kindOf, readdir, realpath, stat } from '../../system/fs.js';
import { errnoOf, realSys } from '../../system/sys.js';
import { resolveInWorkspace } from '../apply/resolve-path.js';
import type { Result } from '../ports.js';
import { foldedName, groupBy, lastSegment } from '../../shared/text.js';

const NOT_THERE = 'file not found';
export const isAbsent = ({ code, message }: Problem): boolean =>
  code === 'target_missing' && message.endsWith(NOT_THERE);
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
  /** Number of names that the file has (hard links). */
  readonly names: number;
}

/**
 * Facts of an existing regular file inside the workspace. Problems: `target_missing` (and then a file may be made there: its
 * directory lies inside), `name_too_long`, `target_not_a_file`, `target_outside`, `target_too_large`, `disk` (may not be looked at).
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
  try {
    const realRoot = await realpath(root);
    const place = await resolveInWorkspace(realSys, realRoot, path);
    if (!place.ok) return no(place.code, place.reason);
    const { path: named, real: target } = place;
    const realPath = join(realRoot, target);
    const facts = await stat(realPath);
    if (!facts.isFile()) return no('target_not_a_file', `it is ${kindOf(facts)}, expected a file`);
    if (maxFile_bytes !== null && facts.size > maxFile_bytes)
      return no(
        'target_too_large',
        `it has ${facts.size} bytes, at most ${maxFile_bytes} (maxFile_bytes) are edited`,
      );
    const { size: bytes, mode, nlink: names } = facts;
    return {
      ok: true,
      value: {
        path: named,
        target,
        realPath,
        bytes,
        mode: mode & 0o777,
        symlink: target !== named,
        names,
      },
    };
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'EACCES' || code === 'EPERM') return no('disk', 'permission denied');
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
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

const FENCE = /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))[^\n]*\n[^]*?(?:^ {0,3}\1[`~]*[ \t]*$|$(?![^]))/gm;
const CODE_SPAN = new RegExp(`(?<!\`)(\`+)(?!\`)([^]{1,${HINT_CHARS}}?)(?<!\`)\\1(?!\`)`, 'g');
const WORD = /[^\s`'"“”‘’<>()[\]{}|,;*]+/g;

/**
 * Paths and file names in the Markdown text that name files of the workspace, in order of first mention: an exact path, or the
 * end of exactly one file's path. Fenced blocks (examples, logs) count only where the prose names no file.
 */
export function hintedPaths(instructions: string, files: readonly string[]): string[] {
  const known = new Set(files);
  const byName = groupBy(files, lastSegment);
  const prose = instructions.replace(FENCE, (fence) => ' '.repeat(fence.length));
  const found = namedIn(prose, known, byName);
  return found.length > 0 ? found : namedIn(instructions, known, byName);
}

function namedIn(
  text: string,
  known: ReadonlySet<string>,
  byName: ReadonlyMap<string, readonly string[]>,
): string[] {
  const found = new Set<string>();
  for (const mention of mentionsIn(text)) {
    const path = fileOf(mention, known, byName);
    if (path !== null) found.add(path);
  }
  return [...found];
}

function mentionsIn(text: string): Mention[] {
  // The whole span may be a path with blanks; its words are looked at below like all others.
  const mentions = [...text.matchAll(CODE_SPAN)].map(({ index, 2: span = '' }): Mention => {
    return { at: index, text: span.trim(), pathLike: true };
  });
  for (const word of text.matchAll(WORD)) {
    if (!word[0].includes('://'))
      mentions.push({ at: word.index, text: word[0], pathLike: /\/|.\.\w/.test(word[0]) });
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
    const ending = (byName.get(lastSegment(candidate)) ?? []).filter((file) =>
      file.endsWith(`/${candidate}`),
    );
    if (ending.length === 1 && ending[0] !== undefined) return ending[0];
  }
  return null;
}

/** As written; without `./`, a line number (`a.ts:12:5`, `a.ts#L12`) and the punctuation of the sentence. */
function readings(text: string): string[] {
  const bare = text.replace(/^\.\//, '');
  const trimmed = bare.replace(/(?<![.:!?…])[.:!?…]+$/, '');
  const unnumbered = trimmed.replace(/(:\d+(-\d+|:\d+)?|#L\d+(-L?\d+)?)$/, '');
  return [...new Set([bare, trimmed, unnumbered])].filter((reading) => reading !== '');
}

// What stands beside new files under a name that differs in letter case or in how an accent is written.

/** Relative paths of files and folders; none where a folder cannot be read. */
export const namesAround = async (
  root: string,
  paths: readonly string[],
): Promise<readonly string[]> => {
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
      for (const name of names)
        if (name !== part && foldedName(name) === folded) found.add(join(folder, name));
      if (!names.includes(part)) break;
      folder = join(folder, part);
    }
  }
  return [...found];
};

/** Mode bits of a file that an edit makes and whose mode nothing says. */
export const NEW_FILE_MODE = 0o644;
