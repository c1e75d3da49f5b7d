/** Paths in answers: which one a line names, and whether it gets further. They are hostile: only those that were offered or may be created do. */
import { lastSegment } from '../shared/text.js';
import { likeness } from './locate/nearest.js';
import { openingFence } from './text/fence.js';
import { characterCode } from './text/codec.js';
import type { ApplyOptions, ContextFile, FormatContext, Reason } from './types.js';

const PATH_CHARS = 300; // bound: A longer line names no file.
const NAMES_OFFERED = 3; // bound: Paths that a refusal names in place of one that is not there.
const LIKE_ENOUGH = 0.6; // bound: Share of a path that another one must have in common with it to be named.

/** What stands before a path in Markdown and comments: a heading, an item, a quote, a comment, a label; and after it. */
const BEFORE =
  /^(?:(?:#{1,6}|[-*+>]|\d{1,3}[.)]|\/\/|--|<!--|\/\*)\s+|(?:[*_]{2})?(?:file|filename|file ?name|file ?path|path)(?:[*_]{2})?:(?:[*_]{2})?\s*)/i;
const AFTER = /(?:\s*(?:-->|\*\/)|\s+\([^()]*\)|:)$/;
const WRAPPED = /^(\*{1,3}|_{2}|`{1,2}|"|')(.+)\1$/;
const INFO_KEY = /^\{?(?:file|filename|file_path|path|title|name)=|^[A-Za-z][\w+#-]*:(?=.)/;
/** No blanks, and a folder or an ending. */
const LOOKS = /^(?!.*:\/\/)(?!-)[^\s`<>*#]+$/;
const ENDING =
  /(?:\/[^/]*\w|\.(?!net$)[A-Za-z][\w+]{0,15}|^\.[a-z]+-(?:format|ignore(?:-revs)?|tidy|versions?))$/i;
/** Names without an ending that are words of no sentence; in a fence's info string they are languages. */
const WHOLE_NAME =
  /^(?:(?:App|Brew|Cap|Container|Docker|Earth|Fast|Gem|Guard|Jenkins|Just|Make|Pip|Pod|Proc|Rake|Snake|Tilt|Vagrant)file|AUTHORS|CODEOWNERS|CONTRIBUTORS|COPYING|LICEN[CS]E|MAINTAINERS|NOTICE|README)$/;

/** Words of a line that does no more than name a file; any other makes it a sentence. */
const LABEL =
  /^(?:[^\p{L}]*|and|also|then|now|next|first|second|third|last|finally|the|same|in|to|for|of|edit|change[ds]?|modif(?:y|ied)|updated?|new|\/?file(?:name)?|path|index|step|part|lines?)$/iu;
const NAMES_FILE = /^[^\s`<>*#:]*\.[a-z]\w{0,15}$/i;
const BETWEEN = /\]\(|:(?=\d)|[\s"'“”<>,]+/;
// What stands before the second run keeps it from being tried at each of its characters.
const EDGES = /^(?:[([{*=#>@+-]+|(?:\.\/)+)|(?<![\])}*=.:;!?…→-])[\])}*=.:;!?…→-]+$/g;

type Files = ReadonlyMap<string, unknown>;

/**
 * The file that a line outside of every edit names: an offered path, or what looks like one, in Markdown formatting (`**b.py**`, `### b.py`,
 * `File: b.py`), as a comment (`# b.py`), or in a fence's info string, alone or after a language. Null: it names none.
 */
export const namedPath = (line: string, files: Files): string | null => {
  if (line.length > PATH_CHARS) return null;
  const info = openingFence(line)?.info;
  if (info === undefined) return pathIn(line.trim(), files);
  for (const word of info.split(/\s+/)) {
    const path = pathIn(word.replace(INFO_KEY, '').replace(/^\{\.?|\}$/g, ''), files);
    if (path !== null && (files.has(path) || !WHOLE_NAME.test(path))) return path;
  }
  return null;
};

const pathIn = (text: string, files: Files): string | null => {
  for (let left = text; left !== '';) {
    const looks = LOOKS.test(left);
    // A name that looks like none is one where it is offered.
    if ((looks || /[./]/.test(left)) && files.has(left)) return left;
    const bare = WRAPPED.test(left)
      ? left.replace(WRAPPED, '$2')
      : left.replace(BEFORE, '').replace(AFTER, '');
    const inner = bare.trim();
    if (inner === left) return looks && (ENDING.test(left) || WHOLE_NAME.test(left)) ? left : null;
    left = inner;
  }
  return null;
};

/** Paths of files that are there beforehand, and their last names. */
export const namesThere = ({ files, options }: FormatContext): ReadonlySet<string> =>
  new Set(pathsThere(files, options).flatMap((path) => [path, lastSegment(path)]));

/**
 * The file of an edit without a path of its own, by the line before it: `current` where that names no other file, another where it does no
 * more than name it, and null where it is a sentence about another or names several.
 */
export const fileBefore = (
  line: string,
  current: string | null,
  context: FormatContext,
  names: () => ReadonlySet<string>,
): string | null => {
  if (line.length > PATH_CHARS) return current;
  const named = namedPath(line, context.files);
  const parts = line.split('`').flatMap((part, i) => part.split(i % 2 === 1 ? /:(?=\d)/ : BETWEEN));
  const own = current === null ? null : withoutPrefix(current.replace(/^(?:\.\/)+/, ''), context);
  const [there, unknown] = [new Set<string>(), new Set<string>()];
  let [isLabel, isOwn] = [true, false];
  for (const word of named === null ? parts.map((part) => part.replace(EDGES, '')) : [named]) {
    const path = withoutPrefix(word, context);
    if (named === null && !NAMES_FILE.test(path) && !WHOLE_NAME.test(lastSegment(path)))
      isLabel &&= LABEL.test(path);
    else if (path === own || (own?.endsWith(`/${path}`) === true && !context.files.has(path)))
      isOwn = true;
    else if (context.files.has(path) || names().has(path)) there.add(path);
    else if (named !== null || path.includes('/')) unknown.add(path);
    else isLabel = false;
  }
  const [other, ...more] = isLabel ? [...there, ...unknown] : there;
  if (other === undefined) return current;
  return isLabel && !isOwn && more.length === 0 ? other : null;
};

/** The path that a block means: without `a/` or `b/` before it where only that is a file. */
export const withoutPrefix = (path: string, { files }: FormatContext): string => {
  const bare = /^[ab]\//.test(path) && !files.has(path) ? path.slice(2) : path;
  return bare !== path && (files.get(bare)?.bytes ?? null) !== null ? bare : path;
};

/** Paths of files and folders that are there beforehand. */
export const pathsThere = (
  files: FormatContext['files'],
  { beside = [] }: ApplyOptions,
): readonly string[] => [
  ...beside,
  ...[...files].flatMap(([path, { bytes }]) => (bytes === null ? [] : [path])),
];

/** The paths most like one that is not there, as a sentence with a blank before it; '' where none is. They are named, never taken. */
export const nearestPaths = (path: string, { files, options }: FormatContext): string => {
  const paths = [...new Set(pathsThere(files, options))].filter((other) => other !== path);
  const name = lastSegment(path).toLowerCase();
  const same = paths.filter((other) => lastSegment(other).toLowerCase() === name);
  const scored = paths
    .map((other) => [likeness(other, path), other] as const)
    .filter(([like]) => like >= LIKE_ENOUGH);
  const like = same.length > 0 ? same : scored.sort(([a], [b]) => b - a).map(([, other]) => other);
  return like.length === 0 ? '' : ` The nearest is ${like.slice(0, NAMES_OFFERED).join(', ')}.`;
};

/**
 * A reason that is told, with the files that may be meant instead: to look for them costs a pass over all names, so it is not done for every
 * path of an answer. `unknown_file` of a file that the workspace has is `file_not_offered`.
 */
export const withNames = (reason: Reason, context: FormatContext): Reason => {
  const { code, path, message } = reason;
  if (path === undefined) return reason;
  if (code === 'target_absent')
    return { ...reason, message: message + nearestPaths(path, context) };
  if (code !== 'unknown_file') return reason;
  const offered = `Edit only: ${[...context.files.keys()].slice(0, 20).join(', ') || '(no file)'}.`;
  return context.options.beside?.includes(path) === true
    ? {
        ...reason,
        code: 'file_not_offered',
        message: `${path} was not offered for editing. ${offered}`,
      }
    : { ...reason, message: `${message}${nearestPaths(path, context)} ${offered}` };
};

/** Characters that some file systems drop when they compare names, so that `.g<U+200C>it` would mean `.git`. */
const IGNORED_BY_FILE_SYSTEMS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
/** Line ends that only some programs see, and characters that show the rest of a name the other way round. */
const MISSHOWN = /[\u0085\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const DEVICE = /^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])$/;

/** How Windows and macOS may read a segment: no ignored characters, no stream name, no trailing dots and blanks, lower case. */
const folded = (segment: string): string =>
  (segment.replace(IGNORED_BY_FILE_SYSTEMS, '').split(':')[0] ?? '')
    .replace(/[. ]+$/, '')
    .toLowerCase();

/** The path in normal form (`./` and doubled slashes gone), or why it is refused. */
export type CheckedPath =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly why: string };

const no = (why: string): CheckedPath => ({ ok: false, why });

/** Lexical checks only; symlinks are judged where files are read and written. */
export const checkPath = (path: string): CheckedPath => {
  if (path === '') return no('the path is empty');
  if (path.length > 4096) return no('the path is longer than 4096 characters');
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\x00-\x1f\x7f]/.test(path)) return no('the path contains a control character');
  if (path.includes('\\')) return no('the path contains a backslash; write `/` between folders');
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return no('the path is absolute');
  if (path.startsWith('~')) return no('the path starts with `~`');
  if (path.endsWith('/')) return no('the path names a folder');
  const segments = path.split('/').filter((s) => s !== '' && s !== '.');
  if (segments.length === 0 || path.endsWith('/.')) return no('the path names a folder');
  for (const segment of segments) {
    if (segment === '..') return no('the path leaves its folder with `..`');
    const name = folded(segment);
    if (name === '.git' || name === 'git~1') return no('the path is in a `.git` folder');
    if (name === '') return no(`the path contains the segment "${segment}"`);
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

export type LookedUp = Readonly<
  { ok: true; path: string; file: ContextFile } | { ok: false; reason: Reason }
>;

/**
 * The file that an answer's path means. `file.text` is null exactly where the file does not exist yet. Refusals: `bad_path`,
 * `unknown_file` (it was not offered; `withNames` says more), `binary`, `encoding`.
 */
export const lookUp = (answered: string, context: FormatContext, index?: number): LookedUp => {
  const looked = lookUpWhole(answered, context, index);
  if (!looked.ok || looked.file.bytes === null || looked.file.text !== null) return looked;
  const { path, file } = looked;
  const { code, why } = file.unreadable ?? { code: 'binary', why: '' };
  const message = `${path} is not text that can be edited. ${why}${why && ' '}Omit it.`;
  return { ok: false, reason: { code, path, ...(index === undefined ? {} : { index }), message } };
};

/** The same for an edit that moves or deletes a file as a whole, which need not be text: its `text` is null then, and its bytes are not. */
export const lookUpWhole = (answered: string, context: FormatContext, index?: number): LookedUp => {
  // Blanks at its ends are a slip, unless they are the name of a file.
  const checked = checkPath(context.files.has(answered) ? answered : answered.trim());
  const path = checked.ok ? checked.path : answered;
  const refuse = (code: string, message: string): LookedUp => ({
    ok: false,
    reason: { code, path, ...(index === undefined ? {} : { index }), message },
  });
  if (!checked.ok) {
    const said = `The path ${JSON.stringify(answered)} is not accepted`;
    return refuse('bad_path', `${said}: ${checked.why}. Use a path relative to the workspace.`);
  }
  const file = context.files.get(path);
  if (file !== undefined) return { ok: true, path, file };
  if (!mayCreate(path, context.options.mayCreateUnder ?? []))
    return refuse('unknown_file', `There is no file ${path}, and none may be created there.`);
  if (hasDeviceName(path))
    return refuse('bad_path', `${path} is a device name on Windows. Choose another name.`);
  const [odd] = MISSHOWN.exec(path) ?? [];
  if (odd !== undefined) {
    const shown = JSON.stringify(path.replace(new RegExp(MISSHOWN, 'g'), '?'));
    const why = 'which would show another name than it has. Choose another name.';
    return refuse('bad_path', `${shown} holds ${characterCode(odd)}, ${why}`);
  }
  return { ok: true, path, file: { bytes: null, text: null } };
};
