/** Paths in answers are hostile: only workspace-relative paths that were offered, or that may be created, get further. */
import type { ContextFile, FormatContext, Reason } from './types.js';

/** Characters that some file systems drop when they compare names, so that `.g<U+200C>it` would mean `.git`. */
const IGNORED_BY_FILE_SYSTEMS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
/** Line ends that only some programs see, and characters that show the rest of a name the other way round. */
const MISSHOWN = /[\u0085\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const DEVICE = /^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])$/;

/** How Windows and macOS may read a segment: no ignored characters, no stream name, no trailing dots and blanks, lower case. */
const folded = (segment: string): string =>
  (segment.replace(IGNORED_BY_FILE_SYSTEMS, '').split(':')[0] ?? '').replace(/[. ]+$/, '').toLowerCase();

/** The path in normal form (`./` and doubled slashes gone), or why it is refused. */
export type CheckedPath = { readonly ok: true; readonly path: string } | { readonly ok: false; readonly why: string };

const no = (why: string): CheckedPath => ({ ok: false, why });

/** Lexical checks only; symlinks are judged where files are read and written. */
export const checkPath = (path: string): CheckedPath => {
  if (path === '') return no('the path is empty');
  if (path.length > 4096) return no('the path is longer than 4096 characters');
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\x00-\x1f\x7f]/.test(path)) return no('the path holds a control character');
  if (path.includes('\\')) return no('the path holds a backslash; write `/` between folders');
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return no('the path is absolute');
  if (path.startsWith('~')) return no('the path starts with `~`');
  if (path.endsWith('/')) return no('the path names a folder');
  const segments = path.split('/').filter((s) => s !== '' && s !== '.');
  if (segments.length === 0 || path.endsWith('/.')) return no('the path names a folder');
  for (const segment of segments) {
    if (segment === '..') return no('the path leaves its folder with `..`');
    const name = folded(segment);
    if (name === '.git' || name === 'git~1') return no('the path lies in a `.git` folder');
    if (name === '') return no(`the path holds the segment "${segment}"`);
  }
  return { ok: true, path: segments.join('/') };
};

/** Names that cannot be files on Windows, with blanks before the ending too; refused only for new files, existing ones stay editable where they exist. */
const hasDeviceName = (path: string): boolean =>
  path.split('/').some((segment) => DEVICE.test((folded(segment).split('.')[0] ?? '').trimEnd()));

const mayCreate = (path: string, under: readonly string[]): boolean =>
  under.some((folder) => {
    const clean = folder.replace(/^(\.\/)+/, '').replace(/\/+$/, '');
    return clean === '' || clean === '.' || path.startsWith(`${clean}/`);
  });

export type LookedUp =
  | { readonly ok: true; readonly path: string; readonly file: ContextFile }
  | { readonly ok: false; readonly reason: Reason };

/**
 * The file that an answer's path means. `file.text` is null exactly where the file does not exist yet. Refusals: `bad_path`,
 * `file_not_offered`, `binary`, `encoding`.
 */
export const lookUp = (answered: string, context: FormatContext, index?: number): LookedUp => {
  const at = index === undefined ? {} : { index };
  const refuse = (code: string, path: string, message: string): LookedUp => ({
    ok: false,
    reason: { code, path, ...at, message },
  });
  const checked = checkPath(answered);
  if (!checked.ok)
    return refuse(
      'bad_path',
      answered,
      `The path ${JSON.stringify(answered)} is not accepted: ${checked.why}. Use a path relative to the workspace.`,
    );
  const { path } = checked;
  const file = context.files.get(path);
  if (file !== undefined) {
    if (file.bytes !== null && file.text === null) {
      const { code, why } = file.unreadable ?? { code: 'binary', why: '' };
      return refuse(code, path, `${path} is not text that can be edited. ${why}${why && ' '}Leave it out.`);
    }
    return { ok: true, path, file };
  }
  if (!mayCreate(path, context.options.mayCreateUnder ?? [])) {
    const offered = [...context.files.keys()].slice(0, 20).join(', ');
    return refuse(
      'file_not_offered',
      path,
      `${path} was not offered for editing. Edit only: ${offered || '(no file)'}.`,
    );
  }
  if (hasDeviceName(path)) return refuse('bad_path', path, `${path} is a device name on Windows. Choose another name.`);
  const [odd] = MISSHOWN.exec(path) ?? [];
  if (odd !== undefined) {
    const point = `U+${(odd.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
    const shown = JSON.stringify(path.replace(new RegExp(MISSHOWN, 'g'), '?'));
    return refuse(
      'bad_path',
      path,
      `${shown} holds ${point}, which would show another name than it has. Choose another name.`,
    );
  }
  return { ok: true, path, file: { bytes: null, text: null } };
};
