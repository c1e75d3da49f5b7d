/**
 * Checks the paths in a job file and in `emend.yaml`. Every path is relative, separated by `/`, and inside the workspace. The checks do not read
 * the disk.
 */
import { posix } from 'node:path';

export type CheckedPath = Readonly<{ ok: true; path: string } | { ok: false; expected: string }>;

export const PATH_CHARS = 4_096; // bound: Characters of a path in a document. The kernel does not open a longer path.

export const LONG = `a path of at most ${PATH_CHARS} characters`;

const refuse = (expected: string): CheckedPath => ({ ok: false, expected });

/** Normalizes the path of a file (`./src//a.ts` becomes `src/a.ts`), or returns the kind of path that is expected instead. */
export function checkFilePath(input: string): CheckedPath {
  const checked = checkDirectoryPath(input);
  if (!checked.ok) return checked;
  if (checked.path === '' || /\/\.?$/.test(input))
    return refuse('the path of a file, not of a directory');
  return checked;
}

/** Normalizes the path of a directory in the same way. The path of the workspace itself is `''`. */
export function checkDirectoryPath(input: string): CheckedPath {
  if (input.length > PATH_CHARS) return refuse(LONG);
  if (input.trim() === '') return refuse('a path that is not empty');
  if (hasControl(input))
    return refuse('a path without NUL, line ends and other control characters');
  if (input.includes('\\')) return refuse('a path with "/" between its parts, no "\\"');
  if (input.startsWith('/') || /^[A-Za-z]:\//.test(input))
    return refuse('a path relative to the workspace, not absolute');
  const path = posix.normalize(input).replace(/\/$/, '');
  if (path === '..' || path.startsWith('../')) return refuse('a path inside the workspace');
  if (path.startsWith('~'))
    return refuse('a path that does not start with "~": home directories are not expanded');
  if (path.split('/').some(isGitDirectory)) return refuse('a path outside .git');
  return { ok: true, path: path === '.' ? '' : path };
}

/**
 * Returns whether a name means `.git` on Windows or macOS. Their file systems ignore some characters, the name of a stream, and dots and
 * blanks at the end of a name.
 */
export function isGitDirectory(part: string): boolean {
  const effectiveName =
    part.replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, '').split(':')[0] ?? '';
  return /^(\.git|git~1)[. ]*$/i.test(effectiveName);
}

/**
 * Returns whether a path contains a line end or another control character. Prompts and responses have one path per line, so a line end in a
 * path would make a second line.
 */
function hasControl(text: string): boolean {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || code === 0x7f || code === 0x2028 || code === 0x2029) return true;
  }
  return false;
}
