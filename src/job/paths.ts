/** The rule for every path in a job file and `emend.yaml`: relative, `/`-separated, inside the workspace. Says nothing about the disk. */
import { posix } from 'node:path';

export type CheckedPath =
  { readonly ok: true; readonly path: string } | { readonly ok: false; readonly expected: string };

const refused = (expected: string): CheckedPath => ({ ok: false, expected });

/** Normalises (`./src//a.ts` is `src/a.ts`) or says what was expected instead. A file, so neither `.` nor a trailing `/`. */
export function checkFilePath(written: string): CheckedPath {
  const checked = checkPath(written);
  if (!checked.ok) return checked;
  if (checked.path === '' || /\/\.?$/.test(written)) return refused('the path of a file, not of a directory');
  return checked;
}

/** As `checkFilePath`, for a directory; the workspace itself is `''`. */
export const checkDirectoryPath = (written: string): CheckedPath => checkPath(written);

function checkPath(written: string): CheckedPath {
  if (written.trim() === '') return refused('a path that is not empty');
  if (hasControl(written)) return refused('a path without NUL, line ends and other control characters');
  if (written.includes('\\')) return refused('a path with "/" between its parts, no "\\"');
  if (written.startsWith('/') || /^[A-Za-z]:\//.test(written))
    return refused('a path relative to the workspace, not absolute');
  const path = posix.normalize(written).replace(/\/$/, '');
  if (path === '..' || path.startsWith('../')) return refused('a path inside the workspace');
  if (path.startsWith('~')) return refused('a path that does not start with "~": home directories are not looked up');
  if (path.split('/').some(isGitDirectory)) return refused('a path outside .git');
  return { ok: true, path: path === '.' ? '' : path };
}

/** `.git` as Windows and macOS read names: without characters that they drop, stream names, trailing dots and blanks. */
function isGitDirectory(part: string): boolean {
  const shown = part.replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, '').split(':')[0] ?? '';
  return /^(\.git|git~1)$/i.test(shown.replace(/[. ]+$/, ''));
}

/** Paths stand on lines of their own in prompts and answers: a line end inside one would make a second line. */
function hasControl(text: string): boolean {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || code === 0x7f || code === 0x2028 || code === 0x2029) return true;
  }
  return false;
}
